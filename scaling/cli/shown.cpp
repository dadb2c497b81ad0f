// Subcommands of two words; see shown.hpp.
#include "scaling/cli/shown.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <stdexcept>

#include "scaling/words/output.hpp"
#include "support/flag_checks.hpp"
#include "support/nearest_name.hpp"
#include "support/text_file.hpp"

namespace fourfold::inline scaling::inline cli {

CLI::App* add_catalogue(CLI::App& app, Action& action, const Catalogue& of) {
  struct Typed {
    std::string name;  // empty: all
    bool json = false;
  };
  const auto typed = std::make_shared<Typed>();
  const Action answer = [typed, of] {
    const Shown shown = typed->json ? Shown::json : Shown::text;
    print(typed->name.empty() ? of.all(shown) : of.show(typed->name, shown));
    return 0;
  };
  CLI::App* verb = app.add_subcommand(of.verb, of.meaning);
  CLI::App* list = verb->add_subcommand("list", "List all, as without a name");
  CLI::App* show = verb->add_subcommand("show", fmt::format("Show {}", of.one));
  verb->footer(of.footer);
  verb->require_subcommand(0, 1);
  show->footer(fmt::format("Example:\n  fourfold {} show {}", of.verb, of.example));
  list->footer(fmt::format("Example:\n  fourfold {} list --json", of.verb));
  verb->add_option("NAME", typed->name, "a name or a file; all if absent")->check(some_word());
  show->add_option("NAME", typed->name, "a name or a file")->required()->check(some_word());
  for (CLI::App* one : {verb, list, show}) {
    one->add_flag("--json", typed->json, "print one line of JSON");
  }
  verb->callback([verb, typed, answer, &action] {
    if (!verb->get_subcommands().empty()) return;
    action = [verb, typed, answer] {
      try {
        return answer();
      } catch (const std::runtime_error&) {  // a name of nothing may be a verb in other letters
        std::vector<std::string> verbs;
        for (const CLI::App* one : verb->get_subcommands({})) verbs.push_back(one->get_name());
        const std::string meant = did_you_mean(typed->name, verbs);
        if (meant.empty()) throw;
        throw std::runtime_error(fmt::format("unknown verb '{}'{}", typed->name, meant));
      }
    };
  });
  list->callback([answer, &action] { action = answer; });
  show->callback([answer, &action] { action = answer; });
  return verb;
}

void add_template(CLI::App& verb, const std::string& one, Action& action,
                  const std::function<std::string()>& text) {
  CLI::App* own =
      verb.add_subcommand("template", fmt::format("Print a file for {} of your own", one));
  own->footer(fmt::format("Example:\n  fourfold {} template > my-file.toml", verb.get_name()));
  own->callback([text, &action] {
    action = [text] {
      print(text());
      return 0;
    };
  });
}

void add_width_flag(CLI::App& verb, std::string& width) {
  verb.add_option("--width", width,
                  "of figures, as of a column of a paper, such as 3.5in or 9cm: with letters of 7 "
                  "points and the legend above; as wide as they need if absent");
}

std::string shipped_file(const std::string& path) {
  return read_text_file(std::string(FOURFOLD_SOURCE_DIR "/") + path);
}

std::string shipped_template(const std::string& path, const std::string& use) {
  return fmt::format(
      "# Save this under another name, which ends in .toml, change it, and use it by its path:\n"
      "#   {}\n{}",
      use, shipped_file(path));
}

}  // namespace fourfold::inline scaling::inline cli
