// Leaves by arithmetic; the way between cells is a dragonfly's.
#include "platforms/network/dragonfly_plus.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "platforms/network/fat_tree_rate.hpp"

namespace fourfold::inline platforms::inline network {

DragonflyNetwork between_cells(const DragonflyPlusNetwork& network) {
  if (network.leaves_per_cell < 1 || network.uplinks_per_leaf < 1) {
    throw std::invalid_argument("a dragonfly+ needs at least one leaf in a cell and one link up");
  }
  return {network.cells,
          1,
          network.nodes_per_cell,
          network.links_per_cell_pair,
          network.link_bandwidth,
          network.global_link_bandwidth,
          0,
          network.global_detours};
}

DragonflyPlus::DragonflyPlus(const DragonflyPlusNetwork& network, std::int64_t nics_per_node,
                             std::int64_t nodes)
    : cells_(between_cells(network), nics_per_node, nodes),
      leaf_capacity_(network.link_bandwidth.value * static_cast<double>(network.uplinks_per_leaf)) {
  const std::int64_t cells_used = (nodes + network.nodes_per_cell - 1) / network.nodes_per_cell;
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (network.leaves_per_cell > most / 2 / cells_used ||
      2 * cells_used * network.leaves_per_cell > most - cells_.link_count()) {
    throw std::invalid_argument("the network has more links than 32-bit numbers can name");
  }
  leaves_ = static_cast<std::int32_t>(network.leaves_per_cell);
  nodes_per_leaf_ = (cells_.nodes_per_group() + leaves_ - 1) / leaves_;
  leaf_links_ = static_cast<std::int32_t>(2 * cells_used * leaves_);
}

std::string DragonflyPlus::link_name(std::int32_t link) const {
  if (link < leaf_links_) {
    return fmt::format("cell {} leaf {} {}", link / 2 / leaves_, link / 2 % leaves_,
                       link % 2 == 0 ? "up" : "down");
  }
  const std::int32_t others = cells_.groups() - 1;
  const std::int32_t from = (link - leaf_links_) / others;
  const std::int32_t to = (link - leaf_links_) % others;
  return fmt::format("cell {} -> cell {}", from, to < from ? to : to + 1);
}

void DragonflyPlus::route(Port from, Port to, double share, std::int32_t first,
                          Footprint& path) const {
  if (leaf(from.node) == leaf(to.node)) return;
  path.push_back({first + 2 * leaf(from.node), share});
  cells_.route(from, to, share, first + leaf_links_, path);
  path.push_back({first + 2 * leaf(to.node) + 1, share});
}

void DragonflyPlus::minimal_route(Port from, Port to, std::int32_t first,
                                  std::vector<std::int32_t>& path) const {
  if (leaf(from.node) == leaf(to.node)) return;
  path.push_back(first + 2 * leaf(from.node));
  cells_.minimal_route(from, to, first + leaf_links_, path);
  path.push_back(first + 2 * leaf(to.node) + 1);
}

DragonflyPlusRates::DragonflyPlusRates(const Node& node, const DragonflyPlusNetwork& network)
    : devices_per_leaf_(0), leaf_capacity_(0.0), cells_(node, between_cells(network)) {
  const DragonflyPlus fabric(network, static_cast<std::int64_t>(node.nics.size()), 1);
  devices_per_leaf_ = std::int64_t{fabric.nodes_per_leaf()} * node.devices;
  leaf_capacity_ = fabric.leaf_capacity();
}

double DragonflyPlusRates::rate(AxisLines lines, const NodeLoad& node) const {
  double rate = std::min(node.rate, cells_.between_groups(lines));
  const auto leaving = static_cast<double>(most_lines_leaving(devices_per_leaf_, lines));
  if (leaving > 0.0) rate = std::min(rate, leaf_capacity_ / leaving);
  return rate;
}

}  // namespace fourfold::inline platforms::inline network
