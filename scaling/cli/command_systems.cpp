// fourfold systems: the training systems that the other verbs know, and one with its sources.
#include <CLI/CLI.hpp>
#include <memory>

#include "scaling/cli/commands.hpp"
#include "scaling/text/system_text.hpp"
#include "scaling/words/output.hpp"

namespace fourfold::inline scaling::inline cli {

void add_systems_verb(CLI::App& app, Action& action) {
  struct Typed {
    std::string system;
    bool json = false;
  };
  const auto typed = std::make_shared<Typed>();
  CLI::App* verb = app.add_subcommand("systems", "List the training systems, or show one");
  verb->footer(
      "A system says which axes a grid may have, what the step does unless told otherwise, and\n"
      "which configurations a search looks at: project --system, search --system, compare.\n"
      "docs/systems.md explains the keys of a file of your own.\n\n"
      "Examples:\n"
      "  fourfold systems\n"
      "  fourfold systems megatron-lm-2021\n"
      "  fourfold systems my-system.toml --json");
  verb->add_option("NAME", typed->system, "a name or a TOML file; all if absent");
  verb->add_flag("--json", typed->json, "print one line of JSON");
  verb->callback([typed, &action] {
    action = [typed] {
      if (!typed->system.empty()) {
        const System system = read_system(typed->system);
        print(typed->json ? system_json(system) : system_text(system));
        return 0;
      }
      std::vector<System> systems;
      for (const std::string& name : known_systems()) systems.push_back(read_system(name));
      print(typed->json ? systems_json(systems) : systems_text(systems));
      return 0;
    };
  });
}

}  // namespace fourfold::inline scaling::inline cli
