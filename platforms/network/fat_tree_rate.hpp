// How fast the rings of one axis run on a fat tree (axis_rate.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "platforms/network/fat_tree.hpp"
#include "platforms/node/node_load.hpp"
#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline network {

// Besides nodes, the bundles of every tier may bind. A line leaves a part of the tree once if some
// of its members are in it and some are not, so a bundle carries as many flows as there are such
// lines: exact. Only the leaves of single rails are approximated, where strides shift NICs.
class FatTreeRates {
 public:
  FatTreeRates(const Node& node, const FatTreeNetwork& network);

  double rate(AxisLines lines, const NodeLoad& node) const;

 private:
  double rail_load(AxisLines lines, const NodeLoad& node, double leaving) const;

  std::int64_t devices_per_node_;
  double nics_per_rail_;
  FatTree tree_;
  std::vector<std::int32_t> rail_of_;  // of each device of a node
};

// Lines with some, but not all, of their members among the devices begin .. end - 1 of the packed
// job. Each leaves them once and enters them once.
std::int64_t lines_leaving(std::int64_t begin, std::int64_t end, AxisLines lines);

// The most lines that leave one of the bins of `bin` devices into which the packed job is cut.
std::int64_t most_lines_leaving(std::int64_t bin, AxisLines lines);

}  // namespace fourfold::inline platforms::inline network
