// How fast the rings of one axis run on a dragonfly+ (axis_rate.hpp).
#pragma once

#include <cstdint>

#include "platforms/dragonfly_plus.hpp"
#include "platforms/dragonfly_rate.hpp"
#include "platforms/node_load.hpp"
#include "platforms/platform.hpp"

namespace fourfold {

// Besides nodes, the bundles of leaves and of cell pairs may bind. A leaf's carries as many flows
// as there are lines that leave it, as in a fat tree: exact where leaves fill their cells evenly,
// else as if they did. Between cells it is what DragonflyRates says of groups.
class DragonflyPlusRates {
 public:
  DragonflyPlusRates(const Node& node, const DragonflyPlusNetwork& network);

  double rate(AxisLines lines, const NodeLoad& node) const;

 private:
  std::int64_t devices_per_leaf_;
  double leaf_capacity_;
  DragonflyRates cells_;
};

}  // namespace fourfold
