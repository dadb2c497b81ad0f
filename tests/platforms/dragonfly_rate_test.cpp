// The closed form on every dragonfly that comes along, against brute force over all axes of jobs,
// and as near to it as it ever was: what a changed boundary case costs shows here.
//
// With single paths and one kind of link so narrow that it binds, the closed form is exact on
// strides that divide nodes or are divided by them, but on Aurora (twelve devices and eight NICs).
// As shipped, the chance of detours comes in; far off is Polaris alone, where the links inside
// groups bind, and the closed form knows least of the other flows on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

enum class Narrow : std::uint8_t { nothing, links_in_groups, links_between_groups };

// Of all axes of a job: how many are off at all, the mean deviation and the worst factor, rounded
// up.
struct Nearness {
  Narrow narrow;
  const char* machine;
  std::int64_t devices;
  int off, axes;
  double mean, worst;
};

// Jobs of some nodes, of whole chassis, of a group, and of several groups.
const std::vector<Nearness> nearness = {
    {Narrow::nothing, "alps", 64, 0, 21, 0.0, 1.0},
    {Narrow::nothing, "alps", 96, 12, 51, 0.0385, 1.2640},
    {Narrow::nothing, "alps", 128, 1, 28, 0.0071, 1.2454},
    {Narrow::nothing, "alps", 448, 24, 70, 0.0378, 1.3864},
    {Narrow::nothing, "alps", 512, 6, 45, 0.0123, 1.1189},
    {Narrow::nothing, "alps", 1024, 10, 55, 0.0180, 1.7500},
    {Narrow::nothing, "alps", 2048, 8, 66, 0.0086, 1.1060},
    {Narrow::nothing, "aurora", 64, 0, 21, 0.0, 1.0},
    {Narrow::nothing, "aurora", 96, 0, 51, 0.0, 1.0},
    {Narrow::nothing, "aurora", 384, 3, 92, 0.0020, 1.0669},
    {Narrow::nothing, "aurora", 768, 5, 117, 0.0028, 1.1108},
    {Narrow::nothing, "aurora", 1024, 8, 55, 0.0054, 1.0669},
    {Narrow::nothing, "frontier", 64, 0, 21, 0.0, 1.0},
    {Narrow::nothing, "frontier", 256, 0, 36, 0.0, 1.0},
    {Narrow::nothing, "frontier", 768, 29, 117, 0.0168, 1.2045},
    {Narrow::nothing, "frontier", 1024, 0, 55, 0.0, 1.0},
    {Narrow::nothing, "frontier", 2048, 2, 66, 0.0006, 1.0181},
    {Narrow::nothing, "lumi", 64, 0, 21, 0.0, 1.0},
    {Narrow::nothing, "lumi", 256, 1, 36, 0.0048, 1.2045},
    {Narrow::nothing, "lumi", 992, 10, 51, 0.0144, 1.1908},
    {Narrow::nothing, "lumi", 1024, 6, 55, 0.0084, 1.1139},
    {Narrow::nothing, "lumi", 2048, 10, 66, 0.0121, 1.5500},
    {Narrow::nothing, "perlmutter", 64, 0, 21, 0.0, 1.0},
    {Narrow::nothing, "perlmutter", 96, 12, 51, 0.0340, 1.2242},
    {Narrow::nothing, "perlmutter", 512, 0, 45, 0.0, 1.0},
    {Narrow::nothing, "perlmutter", 1024, 2, 55, 0.0028, 1.1173},
    {Narrow::nothing, "perlmutter", 2048, 2, 66, 0.0029, 1.1173},
    {Narrow::nothing, "polaris", 64, 0, 21, 0.0, 1.0},
    {Narrow::nothing, "polaris", 96, 17, 51, 0.1146, 2.7273},
    {Narrow::nothing, "polaris", 112, 12, 35, 0.1147, 3.5856},
    {Narrow::nothing, "polaris", 224, 19, 51, 0.1004, 3.5856},
    {Narrow::nothing, "polaris", 512, 32, 45, 0.2078, 1.9041},
    {Narrow::nothing, "polaris", 672, 123, 165, 0.1674, 3.5856},
    {Narrow::nothing, "polaris", 2048, 47, 66, 0.2955, 2.0250},
    {Narrow::links_in_groups, "alps", 192, 0, 70, 0.0, 1.0},
    {Narrow::links_in_groups, "alps", 448, 6, 70, 0.0223, 1.4001},
    {Narrow::links_in_groups, "aurora", 96, 4, 51, 0.0278, 2.1334},
    {Narrow::links_in_groups, "aurora", 384, 14, 92, 0.0533, 2.2858},
    {Narrow::links_in_groups, "frontier", 384, 0, 92, 0.0, 1.0},
    {Narrow::links_in_groups, "frontier", 768, 0, 117, 0.0, 1.0},
    {Narrow::links_in_groups, "frontier", 1024, 0, 55, 0.0, 1.0},
    {Narrow::links_in_groups, "lumi", 768, 0, 117, 0.0, 1.0},
    {Narrow::links_in_groups, "lumi", 992, 4, 51, 0.0170, 1.3334},
    {Narrow::links_in_groups, "perlmutter", 192, 0, 70, 0.0, 1.0},
    {Narrow::links_in_groups, "perlmutter", 512, 0, 45, 0.0, 1.0},
    {Narrow::links_in_groups, "polaris", 64, 0, 21, 0.0, 1.0},
    {Narrow::links_in_groups, "polaris", 96, 4, 51, 0.0077, 1.1539},
    {Narrow::links_in_groups, "polaris", 112, 5, 35, 0.0619, 2.4616},
    {Narrow::links_in_groups, "polaris", 128, 0, 28, 0.0, 1.0},
    {Narrow::links_in_groups, "polaris", 224, 5, 51, 0.0425, 2.4616},
    {Narrow::links_between_groups, "alps", 1024, 0, 55, 0.0, 1.0},
    {Narrow::links_between_groups, "alps", 2048, 0, 66, 0.0, 1.0},
    {Narrow::links_between_groups, "aurora", 1024, 11, 55, 0.0784, 2.2858},
    {Narrow::links_between_groups, "frontier", 2048, 0, 66, 0.0, 1.0},
    {Narrow::links_between_groups, "lumi", 1024, 0, 55, 0.0, 1.0},
    {Narrow::links_between_groups, "lumi", 2048, 0, 66, 0.0, 1.0},
    {Narrow::links_between_groups, "perlmutter", 768, 0, 117, 0.0, 1.0},
    {Narrow::links_between_groups, "perlmutter", 2048, 0, 66, 0.0, 1.0},
    {Narrow::links_between_groups, "polaris", 512, 0, 45, 0.0, 1.0},
    {Narrow::links_between_groups, "polaris", 672, 5, 165, 0.0132, 2.4616},
    {Narrow::links_between_groups, "polaris", 2048, 0, 66, 0.0, 1.0},
};

Platform machine(const char* name, Narrow narrow) {
  Platform platform = read_platform(name);
  if (narrow == Narrow::nothing) return platform;
  DragonflyNetwork& network = dragonfly_of(platform);
  network.local_detours = 0;
  network.global_detours = 0;
  if (narrow == Narrow::links_in_groups) network.link_bandwidth = {giga};
  if (narrow == Narrow::links_between_groups) network.global_link_bandwidth = {giga / 10};
  return platform;
}

class ShippedDragonfly : public testing::TestWithParam<Nearness> {};

TEST_P(ShippedDragonfly, RingRatesAreAsNearToBruteForceAsEver) {
  const Nearness& expected = GetParam();
  const Platform platform = machine(expected.machine, expected.narrow);
  const AxisRates rates(platform);
  int off = 0, axes = 0;
  double deviation = 0.0, worst = 1.0;

  for (const AxisOfJob& axis : axes_of(expected.devices)) {
    const double ratio =
        rates.rate(axis.stride, axis.extent, axis.devices).value / brute_force(platform, axis);
    ++axes;
    if (std::abs(ratio - 1.0) > 1e-6) ++off;
    deviation += std::abs(ratio - 1.0);
    worst = std::max({worst, ratio, 1.0 / ratio});
  }

  EXPECT_EQ(axes, expected.axes);
  EXPECT_LE(off, expected.off);
  EXPECT_LE(deviation / axes, expected.mean + 1e-6);
  EXPECT_LE(worst, expected.worst + 1e-6);
}

std::string name_of(const testing::TestParamInfo<Nearness>& info) {
  const Nearness& row = info.param;
  std::string name = std::string(row.machine) + "_" + std::to_string(row.devices);
  if (row.narrow == Narrow::links_in_groups) name += "_narrow_in_groups";
  if (row.narrow == Narrow::links_between_groups) name += "_narrow_between_groups";
  return name;
}

INSTANTIATE_TEST_SUITE_P(Machines, ShippedDragonfly, testing::ValuesIn(nearness), name_of);

TEST(ShippedDragonflies, AreAllInTheTable) {
  for (const std::string& name : known_platforms()) {
    if (!std::holds_alternative<DragonflyNetwork>(read_platform(name).network)) continue;

    EXPECT_TRUE(std::any_of(nearness.begin(), nearness.end(), [&](const Nearness& row) {
      return row.machine == name;
    })) << name;
  }
}

// A chassis has 14 nodes of 4 devices: its boundary at device 56 cuts the second of two blocks of
// 32, and 8 of that block's 16 pairs lie across it. The NICs, 23.8 GB/s for two devices, bind.
TEST(Polaris, Stride16Extent2On64DevicesIsHalfANic) {
  const Platform polaris = read_platform("polaris");

  EXPECT_NEAR(AxisRates(polaris).rate(16, 2, 64).value, 23.8 * giga / 2, 1.0);
  EXPECT_NEAR(brute_force(polaris, {16, 2, 64}), 23.8 * giga / 2, 1.0);
}

// The same with links inside groups of 1 GB/s: half of those 8 pairs, 2 nodes of 2 devices, share
// the link between two switches.
TEST(Polaris, APairAcrossAChassisBoundaryCountsIfItLiesAcrossIt) {
  const Platform polaris = machine("polaris", Narrow::links_in_groups);
  const AxisRates rates(polaris);

  EXPECT_NEAR(rates.rate(16, 2, 64).value, giga / 4, 1.0);        // 8 of 16 pairs
  EXPECT_NEAR(rates.rate(32, 2, 64).value, giga / 4, 1.0);        // 8 of 32
  EXPECT_NEAR(rates.rate(16, 2, 128).value, giga / 8, 1.0);       // all 16, at the second boundary
  EXPECT_NEAR(rates.rate(4, 2, 64).value, 23.8 * giga / 2, 1.0);  // none
}

// A stride of 125 nodes keeps three nodes of a group of 128 in it: from its first chassis to its
// last, two devices a NIC. The hops of the other 13 nodes of the chassis leave the group.
TEST(Frontier, HopsThatLeaveAGroupDoNotCountAmongItsChassis) {
  Platform frontier = machine("frontier", Narrow::links_in_groups);
  dragonfly_of(frontier).global_link_bandwidth = {1000 * giga};

  EXPECT_NEAR(AxisRates(frontier).rate(1000, 2, 2000).value, giga / 6, 1.0);
}

}  // namespace
}  // namespace fourfold::tests
