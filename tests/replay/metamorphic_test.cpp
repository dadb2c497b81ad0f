// What must hold in every replay, whatever the job: hundreds of random programs on random grids,
// machines and placements, and relations between two replays of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "sim/replay/replay.hpp"
#include "tests/replay/apart.hpp"
#include "tests/replay/cases.hpp"

namespace fourfold::tests {
namespace {

constexpr double rounding = 1e-9;

Bounds bounds_of(const Case& one) {
  const Driven driven(one, placement_of(one));
  const auto lone_rate = [&](const std::vector<std::int64_t>& members, ChannelNumber channel) {
    double rate = std::numeric_limits<double>::infinity();
    for (const LinkShare& entry :
         driven.topology.ring_footprint(driven.mapping.apply(members), channel)) {
      rate = std::min(rate, driven.topology.capacity(entry.link).value / entry.share);
    }
    return rate;
  };
  return walked_apart(one.program, one.grid, driven.streams.front(), lone_rate);
}

// Every flow that moves is at its bound or crosses a full link on which nobody is faster, and no
// link carries more than it can: that is max-min fairness.
void expect_fair_shares(const Driven& driven, const std::vector<double>& caps,
                        const std::string& name) {
  const Incidence& incidence = driven.load.incidence;
  std::vector<double> load(incidence.link_count(), 0.0);
  std::vector<double> fastest(incidence.link_count(), 0.0);
  for (std::int32_t flow = 0; flow < incidence.flow_count(); ++flow) {
    for (const LinkShare& entry : incidence.links_of(flow)) {
      load[entry.link] += entry.share * driven.network.rate(flow);
      fastest[entry.link] = std::max(fastest[entry.link], driven.network.rate(flow));
    }
  }
  for (std::int32_t link = 0; link < incidence.link_count(); ++link) {
    ASSERT_LE(load[link], incidence.capacity(link) * (1 + 1e-8)) << name;
  }
  for (std::int32_t flow = 0; flow < incidence.flow_count(); ++flow) {
    const double rate = driven.network.rate(flow);
    if (rate == 0.0) continue;
    bool justified = rate >= std::min(caps[flow], incidence.lone_rate(flow)) * (1 - 1e-8);
    for (const LinkShare& entry : incidence.links_of(flow)) {
      justified = justified || (load[entry.link] >= incidence.capacity(entry.link) * (1 - 1e-8) &&
                                rate >= fastest[entry.link] * (1 - 1e-8));
    }
    ASSERT_TRUE(justified) << name << ", flow " << flow;
  }
}

TEST(Metamorphic, SharesAreFairAndWithinCapacityAtEveryInstant) {
  std::int64_t instants = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    Case one(seed);
    // One cap a channel, so that the cap of a flow is known from outside.
    for (TimedCollective& collective : one.program.collectives) {
      collective.cost.rate_cap = {4e9 * (1 + collective.channel)};
    }
    Driven driven(one, placement_of(one));
    std::vector<double> caps(driven.load.incidence.flow_count());
    for (std::int32_t c = 0; c < driven.communicators.count(); ++c) {
      for (std::int32_t f = driven.load.parts.first[c]; f < driven.load.parts.first[c + 1]; ++f) {
        caps[f] = 4e9 * (1 + driven.communicators.channel(c));
      }
    }

    driven.ranks.start(one.grid.size());
    while (!std::isinf(driven.network.next_time())) {
      driven.network.advance();
      if (++instants % 7 == 0) expect_fair_shares(driven, caps, one.name);
    }

    EXPECT_TRUE(driven.ranks.done()) << one.name;  // what starts ends
    std::int64_t posted = 0;
    for (std::size_t c = 0; c < driven.streams.front().front().posts.size(); ++c) {
      posted += static_cast<std::int64_t>(driven.streams.front().front().posts[c].size()) *
                (one.grid.size() / one.grid.extent(one.program.channels[c].axis));
    }
    EXPECT_EQ(driven.network.counts().finished, posted) << one.name;
  }
  EXPECT_GT(instants, 1000);
}

TEST(Metamorphic, IsBetweenAllApartAndAllInSequence) {
  int contended = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const Case one(seed);

    const double total = total_of(one);
    const Bounds bounds = bounds_of(one);

    EXPECT_GE(total, bounds.apart * (1 - rounding)) << one.name;
    EXPECT_LE(total, bounds.in_sequence * (1 + rounding)) << one.name;
    contended += total > bounds.apart * 1.001 ? 1 : 0;
  }
  EXPECT_GT(contended, 20);
}

TEST(Metamorphic, TheEngineOfSimGridDrivesItTheSameWay) {
  for (std::uint32_t seed = 300; seed < 305; ++seed) {
    const Case one(seed);

    EXPECT_EQ(replay_step(one.program, one.grid, *one.platform, one.options).outcome.total.value,
              total_of(one))
        << one.name;
  }
}

TEST(Metamorphic, AnAxisOfExtentOneCostsNothing) {
  for (std::uint32_t seed = 400; seed < 500; ++seed) {
    const Case one(seed);

    for (const SegmentTimes& segment : times_of(one)) {
      for (std::size_t c = 0; c < segment.channels.size(); ++c) {
        if (one.grid.extent(one.program.channels[c].axis) > 1) continue;
        EXPECT_EQ(segment.channels[c].busy, 0.0) << one.name;
        EXPECT_EQ(segment.channels[c].exposed, 0.0) << one.name;
      }
    }
  }
}

// Placement moves whole nodes: what devices and NICs send is the same, only the ways differ.
TEST(Metamorphic, BytesDoNotDependOnPlacement) {
  const auto sent = [](const Driven& driven) {
    std::map<LinkKind, double> bytes;
    for (std::int32_t link = 0; link < driven.topology.link_count(); ++link) {
      const LinkKind kind = driven.topology.kind(link);
      if (kind == LinkKind::inner || kind == LinkKind::nic_out || kind == LinkKind::nic_in) {
        bytes[kind] += driven.load.bytes[link];
      }
    }
    return bytes;
  };
  for (std::uint32_t seed = 500; seed < 560; ++seed) {
    const Case one(seed);

    const auto packed = sent(Driven(one, Mapping::packed(one.grid.size())));
    const auto moved = sent(Driven(one, Mapping::random(one.grid.size(), *one.platform, seed)));

    for (const auto& [kind, bytes] : packed) {
      EXPECT_NEAR(moved.at(kind), bytes, rounding * bytes) << one.name;
    }
  }
}

// Where nothing is shared, these are theorems.
TEST(Metamorphic, ASlowerDeviceOrPortNeverHelpsWhereNothingContends) {
  const Platform& crossbar = platform_named("crossbar");
  for (std::uint32_t seed = 600; seed < 800; ++seed) {
    Case one(seed);
    one.platform = &crossbar;
    one.options.mapping = {};
    const double sound = total_of(one);
    const std::int64_t victim = one.random() % one.grid.size();
    if (seed % 2 == 0) {
      one.options.compute_factors.assign(one.grid.size(), 1.0);
      one.options.compute_factors[victim] = 1.0 + 0.1 * (1 + one.random() % 20);
    } else if (one.grid.extent(Axis::x) > 1) {  // a job that sends: its port counts
      one.options.faults.degrade = {{"device:" + std::to_string(victim), 0.3}};
    }

    EXPECT_GE(total_of(one), sound * (1 - rounding)) << one.name;
  }
}

}  // namespace
}  // namespace fourfold::tests
