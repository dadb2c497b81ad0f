// The least of node, leaf bundles and cell pairs.
#include "platforms/dragonfly_plus_rate.hpp"

#include <algorithm>

#include "platforms/fat_tree_rate.hpp"

namespace fourfold {

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

}  // namespace fourfold
