// How fast the rings of one axis of the process grid run when all its groups run at once, and
// nothing else does: the closed form that a search evaluates for each channel of a candidate.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "platforms/network/counted_lines.hpp"
#include "platforms/network/dragonfly_plus.hpp"
#include "platforms/network/dragonfly_rate.hpp"
#include "platforms/network/fat_tree_rate.hpp"
#include "platforms/network/torus_rate.hpp"
#include "platforms/node/node_load.hpp"
#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline network {

// Built once per platform; safe to call from threads.
//
// Jobs of up to most_counted_devices are counted (counted_lines.hpp). Of larger ones the rate is
// the least of what the nodes allow (inner links and NICs, node_load.hpp) and what the
// links of the network allow (*_rate.hpp of its kind), on a packed mapping. Inside a node and on a
// crossbar it is exact; with power-of-two grids on full groups it equals the brute force over all
// lines to some per cent; where grids straddle nodes and groups it is an approximation
// (tests/platforms/*rate_test.cpp state the errors).
class AxisRates {
 public:
  explicit AxisRates(const Platform& platform);

  // Bytes/s that each device can send on its rings (= bus bandwidth), without the caps of the
  // collective library. `stride` and `extent` as in ProcessGrid, `devices` is the size of the job.
  // Infinite for an extent of 1, which moves nothing. Of the slowest line of the slice, where lines
  // are counted; else of all.
  BytesPerSecond rate(std::int64_t stride, std::int64_t extent, std::int64_t devices,
                      Slice slice = {}) const;

  // What the same rings take of what their devices share with other rings: appends, per byte/s that
  // a device sends, the part of each link of a node, NIC or port, and of the network's links inside
  // groups and between them, each kind as if all its rings met on one link. Links are numbered
  // 0 to links() - 1.
  void shares(AxisLines lines, Slice slice, std::vector<LinkShare>& shares) const;
  // Whether the rates of slices of such a job may differ.
  bool counted(std::int64_t devices) const { return counted_ && counted_->has({1, 1, devices}); }
  // Whether lanes share anything: not where each has a port of its own.
  bool shared() const { return !port_per_lane_; }
  std::int32_t links() const { return static_cast<std::int32_t>(capacities_.size()) + 2; }

 private:
  using NetworkRates = std::variant<DragonflyRates, DragonflyPlusRates, FatTreeRates, TorusRates>;
  static std::optional<NetworkRates> network_rates(const Platform& platform);

  double port_ = 0.0;  // crossbar only
  bool port_per_lane_ = false;
  std::vector<double> capacities_;  // of a node's links and NICs
  std::optional<NodeLoads> nodes_;
  std::optional<NetworkRates> network_;
  std::optional<CountedLines> counted_;
};

}  // namespace fourfold::inline platforms::inline network
