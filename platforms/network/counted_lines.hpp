// What the rings of one axis load in a small job, counted: the footprints of all its lines, added
// up on every link. Where lines straddle nodes and groups no closed form says it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "platforms/network/link.hpp"
#include "platforms/node/node_load.hpp"
#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline network {

// Jobs of more devices are not counted: the closed forms are near enough there, and faster.
inline constexpr std::int64_t most_counted_devices = 1024;

// Of a job's devices those whose number along one axis is `index`: a stage of a pipeline.
struct Slice {
  static constexpr std::int64_t slowest = -1;  // whichever it is

  std::int64_t stride = 1;
  std::int64_t extent = 1;
  std::int64_t index = 0;
  // Micro-batches that follow each other through the slices: of the time that a slice is busy, one
  // that is k before or after it is busy beside it for 1 - k / in_flight. 0: all are, always.
  std::int64_t in_flight = 0;
};

// Kept once it is counted; safe to ask from threads. Copies share what they have.
class CountedLines {
 public:
  // The platform must be one that Topology accepts, and no crossbar.
  explicit CountedLines(const Platform& platform);

  // Of the slice's lines, beside as many of the others as are busy.
  struct Load {
    double rate = 0.0;  // bytes/s that each device can send on its rings
    // The busiest of each kind, per byte/s that a device sends: links of a node and its NICs as
    // Topology numbers them in its first node, then the network's links in groups (or all of them)
    // and between groups.
    std::vector<LinkShare> shares;
  };

  bool has(AxisLines lines) const;
  const Load& load(AxisLines lines, Slice slice = {}) const;

 private:
  struct Kept;
  std::shared_ptr<Kept> kept_;
};

}  // namespace fourfold::inline platforms::inline network
