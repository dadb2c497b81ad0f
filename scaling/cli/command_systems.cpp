// fourfold systems: the training systems that the other verbs know, and one with its sources.
#include <CLI/App.hpp>
#include <vector>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/shown.hpp"
#include "scaling/text/system_text.hpp"

namespace fourfold::inline scaling::inline cli {

void add_systems_verb(CLI::App& app, Action& action) {
  Catalogue systems;
  systems.verb = "systems";
  systems.meaning = "List the training systems, or show one";
  systems.footer =
      "A system says which axes a grid may have, what the step does unless told otherwise, and\n"
      "which configurations a search looks at: project --system, search --system, compare.\n"
      "docs/systems.md explains the keys of a file of your own.\n\n"
      "Examples:\n"
      "  fourfold systems\n"
      "  fourfold systems show megatron-lm-2021\n"
      "  fourfold systems template > my-system.toml\n"
      "  fourfold systems my-system.toml --json";
  systems.one = "a training system";
  systems.example = "megatron-lm-2021";
  systems.all = [](Shown shown) {
    std::vector<System> all;
    for (const std::string& name : known_systems()) all.push_back(read_system(name));
    return shown == Shown::json ? systems_json(all) : systems_text(all);
  };
  systems.show = [](const std::string& name, Shown shown) {
    const System system = read_system(name);
    return shown == Shown::json ? system_json(system) : system_text(system);
  };
  add_template(*add_catalogue(app, action, systems), "a training system", action, [] {
    return shipped_template("systems/megatron-core.toml",
                            "fourfold project --system my-file.toml --platform frontier "
                            "--model gpt-22b --devices 64");
  });
}

}  // namespace fourfold::inline scaling::inline cli
