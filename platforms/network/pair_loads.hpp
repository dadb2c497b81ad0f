// What groups load whose members send to each other without going around, pair by pair; and how
// fast they are while all groups of an axis do so at once.
#pragma once

#include <cstdint>
#include <vector>

#include "platforms/network/link.hpp"
#include "platforms/network/topology.hpp"
#include "platforms/node/node_load.hpp"
#include "platforms/platform.hpp"
#include "schedule/collectives/kinds.hpp"

namespace fourfold::inline platforms::inline network {

// Per byte that the busiest member sends: every pair, or every two neighbours, load what a ring of
// the two does. Shares are merged by link and sorted.
Footprint exchange_footprint(const Topology& topology, Motion motion,
                             const std::vector<std::int64_t>& members, ChannelNumber channel);

// Bytes/s that the busiest member of each line can send, on a packed mapping. Counted pair by pair:
// throws std::invalid_argument where there are too many.
BytesPerSecond exchange_rate(const Platform& platform, Motion motion, AxisLines lines);

}  // namespace fourfold::inline platforms::inline network
