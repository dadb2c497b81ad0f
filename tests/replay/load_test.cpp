// Rings as flows: which edges of a ring may share one, and which must not, by what two rings then
// take.
#include "sim/replay/load.hpp"

#include <gtest/gtest.h>

#include "sim/replay/replay.hpp"
#include "tests/platforms/machines_for_tests.hpp"
#include "tests/replay/programs.hpp"

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
  builder.run(1);
  builder.cycle(1);
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

}  // namespace
}  // namespace fourfold::tests
