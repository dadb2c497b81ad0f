// What the collectives of a job load: the parts into which each communicator's rings fall, and the
// links of each part.
#pragma once

#include <cstdint>
#include <vector>

#include "platforms/mapping.hpp"
#include "platforms/network/topology.hpp"
#include "sim/conditions/link_faults.hpp"
#include "sim/cost/timed_program.hpp"
#include "sim/replay/communicators.hpp"
#include "sim/replay/flow_network.hpp"
#include "sim/replay/incidence.hpp"

namespace fourfold::inline sim::inline replay {

struct Load {
  Incidence incidence;  // one flow a part, without links that cannot decide a rate
  Parts parts;
  std::vector<double> bytes;  // by link of the topology, in the whole step
};

// The devices of a communicator's members, in ring order, or the sender before the receiver.
std::vector<std::int64_t> members_of(std::int32_t communicator, const Communicators& communicators,
                                     const Mapping& mapping);

// The machine that a job meets.
struct Ground {
  const Platform& platform;
  const Topology& topology;
  const Mapping& mapping;
  const FaultyLinks& faults;
};

// The rate that collectives reach at most, and the bytes per unit of share in a step.
struct ChannelWork {
  std::vector<double> caps;               // by channel
  std::vector<std::vector<double>> sent;  // by stage and channel
  std::vector<ChannelLoad> loads = {};    // by channel; none: no plateau is shared
  std::vector<Motion> motions = {};       // by channel; none: all go around
};

// How the collectives of each channel move. Throws std::invalid_argument with a sentence where some
// go pair by pair and others do not.
std::vector<Motion> channel_motions(const TimedProgram& program);

Load load_of(const Communicators& communicators, const Ground& ground, const ChannelWork& work);

}  // namespace fourfold::inline sim::inline replay
