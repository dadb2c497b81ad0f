// Random jobs for tests of what must hold in every replay, and a replay driven by hand.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "sim/replay/load.hpp"
#include "sim/replay/ranks.hpp"
#include "sim/replay/replay.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {

inline const Platform& platform_named(const std::string& name) {
  static std::map<std::string, Platform> platforms;
  const auto found = platforms.find(name);
  return found != platforms.end() ? found->second
                                  : platforms.emplace(name, read_platform(name)).first->second;
}

// A job of at most 64 ranks, drawn from a seed; on a real machine its nodes are placed at random.
struct Case {
  explicit Case(std::uint32_t seed) : random(seed), program(random_program(seed)) {
    static const std::vector<std::string> machines{"perlmutter", "polaris", "alps", "dgx-h100",
                                                   "summit"};
    platform = &platform_named(machines[random() % machines.size()]);
    std::array<std::int64_t, 4> extents{};
    do {
      for (std::int64_t& extent : extents) extent = 1 + random() % 4;
      grid = ProcessGrid(extents[0], extents[1], extents[2], extents[3]);
    } while (grid.size() > 64);
    options.extent = ReplayExtent::full;
    options.quantum = Seconds{1e-12};  // rates follow every single event
    if (random() % 2 == 0) options.mapping = Mapping::random(grid.size(), *platform, seed);
    name = platform->name + " " + grid.str() + ", seed " + std::to_string(seed);
  }

  std::mt19937 random;
  TimedProgram program;
  const Platform* platform = nullptr;
  ProcessGrid grid;
  ReplayOptions options;
  std::string name;
};

// A replay driven by hand, so that one can look at the network between two instants.
struct Driven {
  Driven(const Case& one, const Mapping& placed)
      : mapping(placed),
        topology(*one.platform, mapping.nodes(one.platform->node.devices),
                 one.program.channels.size()),
        communicators(one.grid, one.program.channels,
                      std::vector<bool>(one.program.channels.size(), true)),
        paces(one.program, one.options.compute_factors),
        streams(unroll(paces, one.grid, Repetitions::full(one.program))),
        load(load_of(communicators,
                     {*one.platform, topology, mapping,
                      FaultyLinks(one.options.faults, topology, *one.platform)},
                     work_of(one.program))),
        network(load.incidence, load.parts, one.options.quantum),
        ranks(pointers_to(streams.front()), one.program, communicators, network) {
    network.on_finish([this](std::int32_t c, double time) { ranks.finish(c, time); });
    std::vector<std::vector<const IssueStream*>> by_pace;
    for (const std::vector<IssueStream>& own : streams) by_pace.push_back(pointers_to(own));
    ranks.set_paces(&paces, std::move(by_pace));
    ranks.set_jitter(&one.options.jitter);
  }

  std::vector<SegmentTimes> run(const ProcessGrid& grid) {
    ranks.start(grid.size());
    while (!std::isinf(network.next_time())) network.advance();
    return ranks.segment_times().front();
  }

  static ChannelWork work_of(const TimedProgram& program) {
    const std::size_t channels = program.channels.size();
    ChannelWork work{
        std::vector<double>(channels, 0.0), {std::vector<double>(channels, 1.0)}, program.loads};
    for (const TimedCollective& collective : program.collectives) {
      double& cap = work.caps[collective.channel];
      cap = std::max(cap, collective.cost.rate_cap.value);
    }
    return work;
  }

  Mapping mapping;
  Topology topology;
  Communicators communicators;
  Paces paces;
  std::vector<std::vector<IssueStream>> streams;  // by pace, of the one stage
  Load load;
  FlowNetwork network;
  Ranks ranks;
};

inline Mapping placement_of(const Case& one) {
  return one.options.mapping.devices.empty() ? Mapping::packed(one.grid.size())
                                             : one.options.mapping;
}

inline std::vector<SegmentTimes> times_of(const Case& one) {
  return Driven(one, placement_of(one)).run(one.grid);
}

inline double total_of(const Case& one) {
  return times_of(one).back().last_end;
}

}  // namespace fourfold::tests
