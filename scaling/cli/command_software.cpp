// fourfold software: what models are trained with, and one with its sources.
#include <CLI/App.hpp>
#include <vector>

#include "scaling/cli/commands.hpp"
#include "scaling/cli/shown.hpp"
#include "scaling/text/software_text.hpp"

namespace fourfold::inline scaling::inline cli {

void add_software_verb(CLI::App& app, Action& action) {
  Catalogue software;
  software.verb = "software";
  software.meaning = "List what models are trained with, or show one";
  software.footer =
      "Software says which kernels a step's functions are, which attention there is, how products\n"
      "are laid out and what a launch costs the host. A machine names its own; a system and\n"
      "--software say otherwise. docs/software.md explains the keys of a file of your own.\n\n"
      "Examples:\n"
      "  fourfold software\n"
      "  fourfold software show axonn-litgpt\n"
      "  fourfold software template > my-software.toml\n"
      "  fourfold software my-software.toml --json";
  software.one = "software";
  software.example = "axonn-litgpt";
  software.all = [](Shown shown) {
    std::vector<Software> all;
    for (const std::string& name : known_software()) all.push_back(read_software(name));
    return shown == Shown::json ? software_list_json(all) : software_list_text(all);
  };
  software.show = [](const std::string& name, Shown shown) {
    const Software one = read_software(name);
    return shown == Shown::json ? software_json(one) : software_text(one);
  };
  add_template(*add_catalogue(app, action, software), "software", action, [] {
    return shipped_template("software/megatron-core.toml",
                            "fourfold project --software my-file.toml --platform frontier "
                            "--model gpt-22b --devices 64");
  });
}

}  // namespace fourfold::inline scaling::inline cli
