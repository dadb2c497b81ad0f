// The network section: its kind decides which other keys there are.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "platforms/sections.hpp"
#include "schedule/nearest_name.hpp"

namespace fourfold {
namespace {

Network read_crossbar(const FactTable& table) {
  return CrossbarNetwork{table.flag("private_port_per_lane")};
}

Network read_dragonfly(const FactTable& table) {
  DragonflyNetwork network;
  network.groups = table.count("groups", Range::positive);
  network.switches_per_group = table.count("switches_per_group", Range::positive);
  network.nodes_per_group = table.count("nodes_per_group", Range::positive);
  network.links_per_group_pair = table.count("links_per_group_pair", Range::positive);
  network.link_bandwidth = {table.number("link_bandwidth_GBps", Range::positive)};
  network.global_link_bandwidth = network.link_bandwidth;
  if (table.has("global_link_bandwidth_GBps")) {
    network.global_link_bandwidth = {table.number("global_link_bandwidth_GBps", Range::positive)};
  }
  network.global_link_bandwidth *= table.scale(global_bandwidth_scale);
  network.local_detours = table.count("local_detours", Range::non_negative);
  network.global_detours = table.count("global_detours", Range::non_negative);
  return network;
}

Network read_dragonfly_plus(const FactTable& table) {
  DragonflyPlusNetwork network;
  network.cells = table.count("cells", Range::positive);
  network.leaves_per_cell = table.count("leaves_per_cell", Range::positive);
  network.nodes_per_cell = table.count("nodes_per_cell", Range::positive);
  network.uplinks_per_leaf = table.count("uplinks_per_leaf", Range::positive);
  network.links_per_cell_pair = table.count("links_per_cell_pair", Range::positive);
  network.link_bandwidth = {table.number("link_bandwidth_GBps", Range::positive)};
  network.global_link_bandwidth = network.link_bandwidth * table.scale(global_bandwidth_scale);
  network.global_detours = table.count("global_detours", Range::non_negative);
  return network;
}

// Rows are numbered from `label` = 1 on without a gap: their order is their meaning.
void check_numbering(const FactTable& row, const std::string& label, std::size_t expected) {
  if (row.label(label) != static_cast<std::int64_t>(expected)) {
    row.refuse(label, fmt::format("is {}, but the next one is {}", row.label(label), expected));
  }
}

Network read_fat_tree(const FactTable& table) {
  FatTreeNetwork network;
  network.link_bandwidth = {table.number("link_bandwidth_GBps", Range::positive)};
  network.rails = table.count("rails", Range::positive);
  const auto rows = table.entries("tiers", {"tier", "members", "oversubscription"});
  for (const FactTable& row : rows) {
    FatTreeTier tier;
    const std::size_t number = network.tiers.size() + 1;
    check_numbering(row, "tier", number);
    tier.members = row.entry_count(std::to_string(number), "members");
    if (number < rows.size()) {
      tier.oversubscription = row.entry_number(std::to_string(number), "oversubscription");
    } else if (row.has("oversubscription")) {
      row.refuse("oversubscription", "makes no sense: nothing is above the last tier");
    }
    network.tiers.push_back(tier);
  }
  if (network.tiers.size() > 1) {
    network.tiers[network.tiers.size() - 2].oversubscription /= table.scale(global_bandwidth_scale);
  }
  return network;
}

Network read_torus(const FactTable& table) {
  TorusNetwork network;
  network.link_bandwidth = {table.number("link_bandwidth_GBps", Range::positive)};
  for (const FactTable& row : table.entries("dimensions", {"dimension", "routers"})) {
    const std::size_t number = network.extents.size() + 1;
    check_numbering(row, "dimension", number);
    network.extents.push_back(row.entry_count(std::to_string(number), "routers"));
  }
  return network;
}

struct Kind {
  std::string name;
  std::vector<std::string> keys;
  Network (*read)(const FactTable& table);
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"crossbar", {"kind", "private_port_per_lane"}, read_crossbar},
      {"dragonfly",
       {"kind", "groups", "switches_per_group", "nodes_per_group", "links_per_group_pair",
        "link_bandwidth_GBps", "global_link_bandwidth_GBps", "local_detours", "global_detours"},
       read_dragonfly},
      {"dragonfly-plus",
       {"kind", "cells", "leaves_per_cell", "nodes_per_cell", "uplinks_per_leaf",
        "links_per_cell_pair", "link_bandwidth_GBps", "global_detours"},
       read_dragonfly_plus},
      {"fat-tree", {"kind", "link_bandwidth_GBps", "rails", "tiers"}, read_fat_tree},
      {"torus", {"kind", "link_bandwidth_GBps", "dimensions"}, read_torus},
  };
  return all;
}

}  // namespace

Network read_network(const FactTable& root) {
  std::vector<std::string> names;
  std::vector<std::string> any_key;
  for (const Kind& kind : kinds()) {
    names.push_back(kind.name);
    any_key.insert(any_key.end(), kind.keys.begin(), kind.keys.end());
  }
  const FactTable table = root.section("network", any_key);
  const std::string name = table.text("kind");
  for (const Kind& kind : kinds()) {
    if (kind.name == name) return kind.read(root.section("network", kind.keys));
  }
  table.refuse("kind", fmt::format("cannot be \"{}\"{}", name, did_you_mean(name, names)));
}

}  // namespace fourfold
