// The verbs `list`, `show` and `template` of whatever has names and files of its own, in one form
// for all.
#pragma once

#include <functional>
#include <string>

#include "scaling/cli/commands.hpp"

namespace CLI {
class App;
}

namespace fourfold::inline scaling::inline cli {

enum class Shown : bool { text, json };

// `fourfold VERB` and `VERB list` list all; `VERB NAME` and `VERB show NAME` show one.
struct Catalogue {
  std::string verb, meaning, footer;
  std::string one;      // what a name is of: "a model"
  std::string example;  // such a name
  std::function<std::string(Shown shown)> all;
  std::function<std::string(const std::string& name, Shown shown)> show;
};
CLI::App* add_catalogue(CLI::App& app, Action& action, const Catalogue& of);

// `fourfold VERB template > my-ONE.toml`.
void add_template(CLI::App& verb, const std::string& one, Action& action,
                  const std::function<std::string()>& text);

// --width of the figures that a verb draws; scaling/words/amounts.hpp reads it.
void add_width_flag(CLI::App& verb, std::string& width);

// A file of this source tree; and as a template, below a line of how to use it.
std::string shipped_file(const std::string& path);
std::string shipped_template(const std::string& path, const std::string& use);

}  // namespace fourfold::inline scaling::inline cli
