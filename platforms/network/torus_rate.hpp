// How fast the rings of one axis run on a torus (axis_rate.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "platforms/network/torus.hpp"
#include "platforms/node/node_load.hpp"
#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline network {

// Besides nodes, the links of every dimension may bind. When every node sends the same distance
// along a dimension, a link is crossed by as many messages as that distance; lines that span
// several dimensions carry from one into the next. Hops back to the start of a line go the shorter
// way round.
class TorusRates {
 public:
  TorusRates(const Node& node, const TorusNetwork& network);

  double rate(AxisLines lines, const NodeLoad& node) const;

 private:
  // Messages over the busiest link of a dimension, one per node, when lines step by `hop` nodes.
  double load(std::int32_t dimension, std::int64_t hop, std::int64_t extent) const;

  std::int64_t devices_per_node_;
  Torus torus_;
};

}  // namespace fourfold::inline platforms::inline network
