// fourfold software: what models are trained with, and one with its sources.
#include <CLI/CLI.hpp>
#include <memory>

#include "scaling/cli/commands.hpp"
#include "scaling/text/software_text.hpp"
#include "scaling/words/output.hpp"

namespace fourfold::inline scaling::inline cli {

void add_software_verb(CLI::App& app, Action& action) {
  struct Typed {
    std::string software;
    bool json = false;
  };
  const auto typed = std::make_shared<Typed>();
  CLI::App* verb = app.add_subcommand("software", "List what models are trained with, or show one");
  verb->footer(
      "Software says which kernels a step's functions are, which attention there is, how products\n"
      "are laid out and what a launch costs the host. A machine names its own; a system and\n"
      "--software say otherwise. docs/software.md explains the keys of a file of your own.\n\n"
      "Examples:\n"
      "  fourfold software\n"
      "  fourfold software axonn-litgpt\n"
      "  fourfold software my-software.toml --json");
  verb->add_option("NAME", typed->software, "a name or a TOML file; all if absent");
  verb->add_flag("--json", typed->json, "print one line of JSON");
  verb->callback([typed, &action] {
    action = [typed] {
      if (!typed->software.empty()) {
        const Software software = read_software(typed->software);
        print(typed->json ? software_json(software) : software_text(software));
        return 0;
      }
      std::vector<Software> all;
      for (const std::string& name : known_software()) all.push_back(read_software(name));
      print(typed->json ? software_list_json(all) : software_list_text(all));
      return 0;
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
