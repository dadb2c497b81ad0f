// How much the links of a machine carry in a step, by class of links.
#pragma once

#include <vector>

#include "platforms/network/topology.hpp"
#include "sim/conditions/link_faults.hpp"
#include "sim/cost/timed_program.hpp"
#include "sim/question/replay_detail.hpp"

namespace fourfold::inline sim::inline replay {

// By stage and channel: bytes that a member of its groups sends in a whole step.
std::vector<std::vector<double>> sent_by_channel(const TimedProgram& program);

// `bytes`: by link. The most used class first; links that carry nothing are left out.
std::vector<LinkUse> link_use(const std::vector<double>& bytes, const Topology& topology,
                              const FaultyLinks& faults, Seconds step);

}  // namespace fourfold::inline sim::inline replay
