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
std::string lines_of(const Key& key, Presence of_table) {
  const bool optional = key.presence == Presence::optional || of_table == Presence::optional;
  const char* start = optional ? "#" : "";
  return explanation(key, "") + start + key.name + " = " + value_of(key) + '\n';
}

std::string lines_of(const KeyTable& table) {
  std::string text = comment(table.meaning, "");
  const char* start = table.presence == Presence::optional ? "#" : "";
  if (table.rows.empty()) {
    if (!table.path.empty()) text += fmt::format("{}[{}]\n", start, table.path);
    for (const Key& key : table.keys) text += lines_of(key, table.presence);
    return text;
  }
  for (const Key& key : table.keys) text += explanation(key, key.name + ": ");
  text += fmt::format("{0}[{1}]\n{0}source = \"{2}\"\n{0}unconfirmed = true\n{0}entries = [\n",
                      start, table.path, source);
  for (const std::string& row : table.rows) text += fmt::format("{}  {},\n", start, row);
  return text + start + "]\n";
}

}  // namespace

namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Rows of rates for one device and a whole node, or for half a node and a whole one.
std::vector<std::string> plateaus(std::int64_t fewest, double lower, std::int64_t all,
                                  double higher) {
  std::vector<std::string> rows;
  if (fewest < all) {
    rows.push_back(fmt::format("{{ devices = {}, bus_bandwidth_GBps = {:g} }}", fewest, lower));
  }
  rows.push_back(fmt::format("{{ devices = {}, bus_bandwidth_GBps = {:g} }}", all, higher));
  return rows;
}

// Typical values of a machine of 128 nodes of 8 devices and NICs, for one of another shape; without
// what a crossbar, whose devices have ports of their own, does not read.
KeyTable shaped(KeyTable table, const TemplateShape& shape) {
  constexpr double nic_GBps = 48.0, ring_of_nic_GBps = 47.5;
  const auto nics = static_cast<double>(shape.nics);
  for (Key& key : table.keys) {
    const std::string full = table.path.empty() ? key.name : table.path + '.' + key.name;
    if (full == "title" && shape.devices != 8) {
      key.typical = fmt::format("\"My machine: {} H100-80GB per node\"", shape.devices);
    }
    if (full == "nodes") key.typical = fmt::to_string(shape.nodes);
    if (full == "node.devices") key.typical = fmt::to_string(shape.devices);
    if (full == "network.rails") key.typical = fmt::to_string(shape.nics);
    if (full == "network.groups") {
      key.typical = fmt::to_string(std::max<std::int64_t>(divided_up(shape.nodes, 16), 4));
    }
    if (full == "network.cells") {
      key.typical = fmt::to_string(std::max<std::int64_t>(divided_up(shape.nodes, 32), 4));
    }
  }
  if (shape.network == "crossbar") {
    std::erase_if(table.keys, [](const Key& key) { return key.name == "switch_port_GBps"; });
  }
  if (table.path == "node.nics") {
    table.rows.clear();
    // On a crossbar the first one stands for every device's port.
    const std::int64_t read = shape.network == "crossbar" ? 1 : shape.nics;
    for (std::int64_t nic = 0; nic < read; ++nic) {
      std::vector<std::int64_t> served;
      for (std::int64_t device = 0; device < shape.devices; ++device) {
        if (device * read / shape.devices == nic) served.push_back(device);
      }
      table.rows.push_back(fmt::format("{{ devices = [{}], bandwidth_GBps = {:g} }}",
                                       fmt::join(served, ", "), nic_GBps));
    }
  } else if (table.path == "network.tiers") {
    const std::int64_t members = std::min<std::int64_t>(shape.nodes, 32);
    table.rows = {fmt::format("{{ tier = 1, members = {}, oversubscription = 1.0 }}", members),
                  fmt::format("{{ tier = 2, members = {} }}",
                              std::max<std::int64_t>(divided_up(shape.nodes, members), 1))};
  } else if (table.path == "network.dimensions") {
    const std::int64_t last = std::max<std::int64_t>(divided_up(shape.nodes, 32), 2);
    table.rows.back() = fmt::format("{{ dimension = 3, routers = {} }}", last);
  } else if (table.path == "library.across" || table.path == "library.across_at_once") {
    const double all = shape.nics == 8 ? 380.0 : ring_of_nic_GBps * nics;
    table.rows = plateaus(1, std::min(nic_GBps, all), shape.devices, all);
  } else if (table.path == "library.in_node") {
    table.rows = plateaus(std::max<std::int64_t>(shape.devices / 2, 2), 363, shape.devices, 370);
  } else if (table.path == "node.crowding") {
    table.rows = {fmt::format("{{ devices = {}, slowdown = 1.0 }}", shape.devices)};
  } else if (table.path == "library.in_node_by_stride" && shape.devices != 8) {
    table.rows = {fmt::format("{{ stride = {}, devices = 2, bus_bandwidth_GBps = 363 }}",
                              std::max<std::int64_t>(shape.devices / 2, 1))};
  } else if (table.path == "library.measured" || table.path == "node.links") {
    if (shape.devices == 8) return table;
    table.rows.clear();
    if (table.path == "node.links") {
      table.rows = {"{ a = 0, b = 1, kind = \"nvlink\", bandwidth_GBps = 100 }"};
    } else {
      table.rows = {
          fmt::format("{{ kind = \"all-reduce\", members = {0}, devices = {0}, bytes = "
                      "1048576, time_us = 40 }}",
                      shape.devices)};
    }
  }
  return table;
}

}  // namespace

std::string platform_template(const TemplateShape& given) {
  TemplateShape shape = given;
  if (shape.nics == 0) shape.nics = shape.devices;
  if (shape.nics > shape.devices) {
    throw std::invalid_argument(fmt::format(
        "{} NICs of {} devices: every device sends through one, so a node has at most as many",
        shape.nics, shape.devices));
  }
  const std::string& network_kind = shape.network;
  const std::vector<std::string> kinds = network_kinds();
  if (std::find(kinds.begin(), kinds.end(), network_kind) == kinds.end()) {
    throw std::invalid_argument(fmt::format("there is no topology \"{}\"{}", network_kind,
                                            one_of_these(network_kind, kinds)));
  }
  std::string text = comment(introduction, "");
  for (const KeyTable& table : platform_keys()) {
    if (!table.network.empty() && table.network != network_kind) continue;
    if (table.path == "library.in_node" && shape.devices == 1) continue;
    text += '\n' + lines_of(shaped(table, shape));
  }
  return text;
}

}  // namespace fourfold::inline platforms::inline file
