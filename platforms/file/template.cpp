// The table of keys as TOML with comments; see template.hpp.
#include "platforms/file/template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "platforms/file/key.hpp"
#include "support/nearest_name.hpp"

namespace fourfold::inline platforms::inline file {
namespace {

constexpr std::size_t width = 100;
constexpr const char* source = "template: a typical number, not measured on this machine";

constexpr const char* introduction =
    "A machine of your own, for `fourfold project --platform FILE`. Every number needs a source: "
    "who "
    "says so, or how it was measured. Those below are typical of 8 H100 a node, not yours: replace "
    "number and source one by one, and leave `unconfirmed = true` where you cannot check; "
    "campaigns "
    "show what half and double of such a number would give. What stands behind a # without a blank "
    "is optional. GB are 1e9 bytes; bandwidths are per direction. `fourfold platforms show FILE` "
    "checks and draws the file; docs/platforms.md explains it.";

// Lines of prose behind "# ", those after the first one farther in.
std::string comment(const std::string& prose, const std::string& indent) {
  const std::size_t blanks = std::min(prose.find_first_not_of(' '), prose.size());
  std::istringstream words(prose);
  std::string text, word;
  std::string line("#");
  line.append(prose, 0, blanks);
  while (words >> word) {
    if (line.size() + 1 + word.size() > width) {
      text += line + '\n';
      line = "#" + indent;
    }
    line += ' ' + word;
  }
  return prose.empty() ? text : text + line + '\n';
}

// What it means; below, farther in, where it comes from and what it moves.
std::string explanation(const Key& key, const std::string& label) {
  std::string text = comment(label + key.meaning, "");
  if (!key.from.empty()) text += comment("  from: " + key.from, "    ");
  if (!key.moves.empty()) text += comment("  moves: " + key.moves, "    ");
  return text;
}

std::string value_of(const Key& key) {
  if (key.form != KeyForm::number) return key.typical;
  return fmt::format("{{ value = {}, source = \"{}\", unconfirmed = true }}", key.typical, source);
}

// `start` is "#" for what is optional.
std::string lines_of(const Key& key) {
  const char* start = key.presence == Presence::optional ? "#" : "";
  return explanation(key, "") + start + key.name + " = " + value_of(key) + '\n';
}

std::string lines_of(const KeyTable& table) {
  std::string text = comment(table.meaning, "");
  const char* start = table.presence == Presence::optional ? "#" : "";
  if (table.rows.empty()) {
    if (!table.path.empty()) text += fmt::format("{}[{}]\n", start, table.path);
    for (const Key& key : table.keys) text += lines_of(key);
    return text;
  }
  for (const Key& key : table.keys) text += explanation(key, key.name + ": ");
  text += fmt::format("{0}[{1}]\n{0}source = \"{2}\"\n{0}unconfirmed = true\n{0}entries = [\n",
                      start, table.path, source);
  for (const std::string& row : table.rows) text += fmt::format("{}  {},\n", start, row);
  return text + start + "]\n";
}

}  // namespace

std::string platform_template(const std::string& network_kind) {
  const std::vector<std::string> kinds = network_kinds();
  if (std::find(kinds.begin(), kinds.end(), network_kind) == kinds.end()) {
    throw std::invalid_argument(fmt::format("there is no topology \"{}\"{}", network_kind,
                                            did_you_mean(network_kind, kinds)));
  }
  std::string text = comment(introduction, "");
  for (const KeyTable& table : platform_keys()) {
    if (!table.network.empty() && table.network != network_kind) continue;
    text += '\n' + lines_of(table);
  }
  return text;
}

}  // namespace fourfold::inline platforms::inline file
