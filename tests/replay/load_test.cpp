// Rings as flows: which edges of a ring may share one, and which must not, by what two rings then
// take; and messages, which load their way through the machine, and only in their direction.
#include "sim/replay/load.hpp"

#include <gtest/gtest.h>

#include "sim/replay/replay.hpp"
#include "sim/replay/strands.hpp"
#include "tests/platforms/machines_for_tests.hpp"
#include "tests/replay/cases.hpp"

namespace fourfold::tests {
namespace {

// Two groups of four nodes with a device and a NIC of 25 GB/s each; 100 GB/s between the groups.
Platform two_groups() {
  Platform platform = dragonfly("two groups", mesh_node(1, 100), 2, {});
  DragonflyNetwork& network = dragonfly_of(platform);
  network.nodes_per_group = 4;
  network.switches_per_group = 1;
  platform.nodes = 8;
  return platform;
}

// Two rings of four along x, every edge of which goes from one group to the other.
Mapping across_groups(const Platform& platform) {
  return Mapping::on_devices(8, platform, {0, 4, 1, 5, 2, 6, 3, 7});
}

const ProcessGrid two_rings(4, 1, 1, 2);
constexpr double work = 50e9;

Replay of_both_rings(const LinkFaults& faults) {
  ProgramBuilder builder;
  builder.post(builder.collective(on::x, 0.0, work, 1e12));
  builder.wait(on::x, 0);
  const Platform platform = two_groups();
  ReplayOptions options;
  options.mapping = across_groups(platform);
  options.faults = faults;
  options.detail = DetailWanted::explanation;
  options.quantum = Seconds{1e-9};
  return replay_step(builder.take(), two_rings, platform, options);
}

TEST(Load, RingsThatNothingHoldsUpRunAtTheirNics) {
  const Replay result = of_both_rings({});

  EXPECT_NEAR(result.detail->flights[0].mean.value, work / 25e9, 1e-9);
  EXPECT_NEAR(result.detail->flights[0].longest.value, work / 25e9, 1e-9);
}

// The four edges from the first group to the second share 57 GB/s. One of them leaves through a NIC
// of 5 GB/s, so that the others have 52/3 GB/s each: they do not wait for it, although nothing but
// the same link decides about them. The slow ring takes 10 s, the other one as long as its edges.
TEST(Load, AnEdgeBehindASlowNicLeavesTheOtherEdgesOfItsRingAlone) {
  const Replay result =
      of_both_rings({{{"group 0 -> group 1", 0.57}, {"node 0 nic 0 out", 0.2}}, {}});

  const double slow = work / 5e9;
  const double other = work / (52e9 / 3);
  EXPECT_NEAR(result.detail->flights[0].longest.value, slow, 1e-6);
  EXPECT_NEAR(result.detail->flights[0].mean.value, (slow + other) / 2, 1e-6);
}

// Edges that are held up alike at all times are one flow: no more flows than that are solved for.
TEST(Load, EdgesThatAreHeldUpAlikeAreOneFlow) {
  const Platform platform = two_groups();
  const Topology topology(platform, 8);
  const Mapping mapping = across_groups(platform);
  const Communicators communicators(two_rings, made_up_channels(),
                                    {true, false, false, false, false});
  const auto parts_with = [&](const LinkFaults& wanted) {
    const FaultyLinks faults(wanted, topology, platform);
    return load_of(communicators, {platform, topology, mapping, faults},
                   {{1e12, 1, 1, 1, 1}, {{1.0, 0, 0, 0, 0}}, {}})
        .parts;
  };

  const Parts sound = parts_with({});
  const Parts narrow = parts_with({{{"group 0 -> group 1", 0.57}}, {}});
  const Parts uneven = parts_with({{{"group 0 -> group 1", 0.57}, {"node 0 nic 0 out", 0.2}}, {}});

  EXPECT_EQ(sound.first, (std::vector<std::int32_t>{0, 1, 2}));   // nothing decides
  EXPECT_EQ(narrow.first, (std::vector<std::int32_t>{0, 2, 4}));  // one direction does
  EXPECT_EQ(uneven.first, (std::vector<std::int32_t>{0, 3, 5}));  // and one edge is slower
}

void expect_same(const Footprint& a, const Footprint& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].link, b[i].link) << what;
    EXPECT_NEAR(a[i].share, b[i].share, 1e-12) << what;
  }
}

TEST(Messages, ThereAndBackLoadWhatARingOfTwoLoads) {
  for (const char* name : {"crossbar", "crossbar-shared", "perlmutter", "polaris", "frontier",
                           "alps", "dgx-h100", "summit"}) {
    const Platform& platform = platform_named(name);
    const Topology topology(platform, 12, 2);
    for (std::int64_t from : {0, 1, 3}) {
      for (std::int64_t to = from + 1; to < topology.devices(); to += 5) {
        Footprint both = message_footprint(topology, platform, {from, to}, 1);
        const Footprint back = message_footprint(topology, platform, {to, from}, 1);

        EXPECT_FALSE(both.empty());
        both.insert(both.end(), back.begin(), back.end());
        merge(both);
        expect_same(both, topology.ring_footprint({from, to}, 1),
                    std::string(name) + " " + std::to_string(from) + " " + std::to_string(to));
      }
    }
  }
}

// The port out of the sender and the port into the receiver, whoever has the lower number.
TEST(Messages, LeaveTheSenderAndEnterTheReceiver) {
  const Platform& platform = platform_named("crossbar-shared");
  const Topology topology(platform, 8);

  for (const MessageEnds ends : {MessageEnds{2, 5}, MessageEnds{5, 2}}) {
    const Footprint load = message_footprint(topology, platform, ends, 0);

    ASSERT_EQ(load.size(), 2U);
    std::vector<std::string> names{topology.link_name(load[0].link),
                                   topology.link_name(load[1].link)};
    std::ranges::sort(names);
    std::vector<std::string> expected{"device " + std::to_string(ends.from) + " out",
                                      "device " + std::to_string(ends.to) + " in"};
    std::ranges::sort(expected);
    EXPECT_EQ(names, expected);
  }
}

TEST(Messages, AreOneStrandFromSenderToReceiver) {
  for (const char* name : {"crossbar", "perlmutter", "dgx-h100", "summit"}) {
    const Platform& platform = platform_named(name);
    const Topology topology(platform, 4);

    const std::vector<Strand> strands = message_strands(topology, platform, {1, 0}, 0);

    ASSERT_EQ(strands.size(), 1U) << name;
    EXPECT_EQ(strands[0].from, 1);
    EXPECT_EQ(strands[0].to, 0);
    EXPECT_EQ(strands[0].share, 1.0);
    EXPECT_FALSE(strands[0].links.empty());
  }
}

}  // namespace
}  // namespace fourfold::tests
