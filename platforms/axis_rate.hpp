// How fast the rings of one axis of the process grid run when all its groups run at once, and
// nothing else does: the closed form that the search evaluates four times a candidate.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "platforms/dragonfly.hpp"
#include "platforms/node_load.hpp"
#include "platforms/platform.hpp"

namespace fourfold {

// Built once per platform, then immutable; `rate` allocates nothing and is safe to call from
// threads.
//
// The rate is the least of what three kinds of link allow, on a packed mapping:
//   node     inner links and NICs (node_load.hpp).
//   local    switch to switch: the ring hops between two chassis, or between two rails of one
//            chassis where the stride shifts NICs, over 1 + local_detours paths.
//   global   hops between two groups over the pair's bundle, over 1 + global_detours paths; or the
//            detour traffic of all groups on the other bundles, if that is more.
// Inside a node and on a crossbar it is exact; with power-of-two grids on full groups it equals the
// brute force over all lines to some per cent; where grids straddle nodes, chassis and groups it is
// an approximation (tests/platforms/axis_rate_test.cpp states the errors).
class AxisRates {
 public:
  explicit AxisRates(const Platform& platform);

  // Bytes/s that each device can send on its rings (= bus bandwidth), without the caps of the
  // collective library. `stride` and `extent` as in ProcessGrid, `devices` is the size of the job.
  // Infinite for an extent of 1, which moves nothing.
  BytesPerSecond rate(std::int64_t stride, std::int64_t extent, std::int64_t devices) const;

 private:
  // Flows of one axis from a switch (or group) to another, and those besides that leave the one or
  // reach the other.
  struct Flows {
    double pair = 0.0;
    double others = 0.0;
    double chance = 0.0;  // spread of the number of detours on a link, in its square root
  };
  Flows local_flows(std::int64_t stride, std::int64_t extent, std::int64_t devices,
                    const NodeLoad& node) const;
  double shifted_pair(std::int64_t shift, double inside, double between) const;
  double local_load(Flows flows) const;
  double global_load(std::int64_t stride, std::int64_t extent, std::int64_t devices) const;

  std::int64_t devices_per_node_;
  double port_ = 0.0;  // crossbar only
  std::optional<NodeLoads> nodes_;
  std::optional<Dragonfly> dragonfly_;
  std::vector<std::int32_t> nic_of_;
};

}  // namespace fourfold
