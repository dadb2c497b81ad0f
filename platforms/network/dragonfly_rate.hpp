// How fast the rings of one axis run on a dragonfly (axis_rate.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "platforms/network/dragonfly.hpp"
#include "platforms/node/node_load.hpp"
#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline network {

// Besides nodes, two kinds of link may bind:
//   local    switch to switch: the ring hops between two chassis, or between two rails of one
//            chassis where the stride shifts NICs, over 1 + local_detours paths.
//   global   hops between two groups over the pair's bundle, over 1 + global_detours paths; or the
//            detour traffic of all groups on the other bundles, if that is more.
class DragonflyRates {
 public:
  DragonflyRates(const Node& node, const DragonflyNetwork& network);

  double rate(AxisLines lines, const NodeLoad& node) const;
  // What the links between switches of a group alone allow; infinite where none is used.
  double within_groups(AxisLines lines, const NodeLoad& node) const;
  // What the links between groups alone allow; infinite where none is used.
  double between_groups(AxisLines lines) const;

 private:
  // Flows of one axis from a switch (or group) to another, and those besides that leave the one or
  // reach the other.
  struct Flows {
    double pair = 0.0;
    double others = 0.0;
    double chance = 0.0;  // spread of the number of detours on a link, in its square root
  };
  Flows local_flows(AxisLines lines, const NodeLoad& node) const;
  double shifted_pair(std::int64_t shift, double inside, double between) const;
  double local_load(Flows flows) const;
  double neighbours_load(AxisLines lines, double part) const;
  double global_load(AxisLines lines) const;

  std::int64_t devices_per_node_;
  Dragonfly dragonfly_;
  std::vector<std::int32_t> nic_of_;
};

}  // namespace fourfold::inline platforms::inline network
