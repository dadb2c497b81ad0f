// The network section: its kind decides which other keys there are.
#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "platforms/sections.hpp"

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
  const auto rows = table.entries("tiers");
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
  for (const FactTable& row : table.entries("dimensions")) {
    const std::size_t number = network.extents.size() + 1;
    check_numbering(row, "dimension", number);
    network.extents.push_back(row.entry_count(std::to_string(number), "routers"));
  }
  return network;
}

}  // namespace

Network read_network(const FactTable& root) {
  const FactTable table = root.section("network");
  const std::string kind = table.text("kind");
  if (kind == "crossbar") return read_crossbar(table);
  if (kind == "dragonfly") return read_dragonfly(table);
  if (kind == "dragonfly-plus") return read_dragonfly_plus(table);
  if (kind == "fat-tree") return read_fat_tree(table);
  if (kind == "torus") return read_torus(table);
  throw std::logic_error("a kind of network that has keys but no reader: " + kind);
}

}  // namespace fourfold
