// A ring taken apart again: the single transfers whose links add up to its footprint. Stock SimGrid
// communications carry one strand each.
#pragma once

#include <cstdint>
#include <vector>

#include "platforms/network/topology.hpp"
#include "schedule/collectives/collective.hpp"

namespace fourfold::inline sim::inline replay {

// `share` of the bytes that every member sends goes from one device to another over these links.
struct Strand {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::vector<std::int32_t> links;
  double share = 1.0;
};

// Steps that a ring of so many members takes, each of them sending one chunk; one of what does not
// go around a ring.
std::int32_t ring_steps(CollectiveKind kind, std::int64_t members);

// The strands of Topology::ring_footprint(members, channel): inside nodes one per link, between
// nodes one per ring and pair of nodes. Throws std::invalid_argument with a sentence where the
// topology spreads a transfer over several paths, which one communication cannot take, or where
// devices of a node meet in a switch.
std::vector<Strand> ring_strands(const Topology& topology, const Platform& platform,
                                 const std::vector<std::int64_t>& members, ChannelNumber channel);

// What moves for itself in Topology::ring_footprint(members, channel), detours and all: the loads
// of its strands; where the devices of a node meet in a switch, all of the ring inside that node.
std::vector<Footprint> ring_parts(const Topology& topology, const Platform& platform,
                                  const std::vector<std::int64_t>& members, ChannelNumber channel);

// A message goes one way, inside a node on the path between the two devices.
struct MessageEnds {
  std::int64_t from = 0;
  std::int64_t to = 0;
};
// One for each pair of exchange_footprint(), there and back. Throws as ring_strands.
std::vector<Strand> exchange_strands(const Topology& topology, const Platform& platform,
                                     Motion motion, const std::vector<std::int64_t>& members,
                                     ChannelNumber channel);
// What it loads, detours and all. A message there and one back load what a ring of two loads.
Footprint message_footprint(const Topology& topology, const Platform& platform, MessageEnds ends,
                            ChannelNumber channel);
// Throws as ring_strands where the topology spreads it over several paths.
std::vector<Strand> message_strands(const Topology& topology, const Platform& platform,
                                    MessageEnds ends, ChannelNumber channel);

}  // namespace fourfold::inline sim::inline replay
