// The closed form on every dragonfly that comes along, against brute force over all axes of jobs,
// and as near to it as it ever was: what a changed boundary case costs shows here.
//
// With single paths and one kind of link so narrow that it binds, the closed form is exact on
// strides that divide nodes or are divided by them, but on Aurora (twelve devices and eight NICs).
// As shipped, the chance of detours comes in; far off is Polaris alone, where the links inside
// groups bind, and the closed form knows least of the other flows on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

enum class Narrow : std::uint8_t { nothing, links_in_groups, links_between_groups };

// Of all axes of a job at most this mean deviation and this worst factor, rounded up.
struct Job {
  std::int64_t devices;
  double mean = 0.0, worst = 1.0;
};

// Jobs of some nodes, of whole chassis, of a group, and of several groups.
struct Shipped {
  const char* machine;
  std::vector<Job> as_shipped, narrow_in_groups, narrow_between_groups;
};

const std::vector<Shipped> shipped{
    {"alps",
     {{64},
      {96, 0.0385, 1.2640},
      {128, 0.0071, 1.2454},
      {448, 0.0378, 1.3864},
      {512, 0.0123, 1.1189},
      {1024, 0.0180, 1.7500},
      {2048, 0.0086, 1.1060}},
     {{192}, {448, 0.0223, 1.4001}},
     {{1024}, {2048}}},
    {"aurora",
     {{64}, {96}, {384, 0.0020, 1.0669}, {768, 0.0028, 1.1108}, {1024, 0.0054, 1.0669}},
     {{96, 0.0278, 2.1334}, {384, 0.0533, 2.2858}},
     {{1024, 0.0784, 2.2858}}},
    {"frontier",
     {{64}, {256}, {768, 0.0168, 1.2045}, {1024}, {2048, 0.0006, 1.0181}},
     {{384}, {768}, {1024}},
     {{2048}}},
    {"lumi",
     {{64},
      {256, 0.0048, 1.2045},
      {992, 0.0144, 1.1908},
      {1024, 0.0084, 1.1139},
      {2048, 0.0121, 1.5500}},
     {{768}, {992, 0.0170, 1.3334}},
     {{1024}, {2048}}},
    {"perlmutter",
     {{64}, {96, 0.0340, 1.2242}, {512}, {1024, 0.0028, 1.1173}, {2048, 0.0029, 1.1173}},
     {{192}, {512}},
     {{768}, {2048}}},
    {"polaris",
     {{64},
      {96, 0.1146, 2.7273},
      {112, 0.1147, 3.5856},
      {224, 0.1004, 3.5856},
      {512, 0.2078, 1.9041},
      {672, 0.1674, 3.5856},
      {2048, 0.2955, 2.0250}},
     {{64}, {96, 0.0077, 1.1539}, {112, 0.0619, 2.4616}, {128}, {224, 0.0425, 2.4616}},
     {{512}, {672, 0.0132, 2.4616}, {2048}}}};

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

void expect_near(const Platform& platform, const std::vector<Job>& jobs) {
  for (const auto& [devices, mean, worst] : jobs) {
    const Errors found = errors(platform, devices);
    EXPECT_LE(found.mean, mean + 1e-6) << devices;
    EXPECT_LE(found.worst_factor, worst + 1e-6) << devices;
  }
}

class ShippedDragonfly : public testing::TestWithParam<Shipped> {};

TEST_P(ShippedDragonfly, HasRingRatesAsNearToBruteForceAsEver) {
  const auto& [name, as_shipped, narrow_in_groups, narrow_between_groups] = GetParam();
  expect_near(machine(name, Narrow::nothing), as_shipped);
  expect_near(machine(name, Narrow::links_in_groups), narrow_in_groups);
  expect_near(machine(name, Narrow::links_between_groups), narrow_between_groups);
}

INSTANTIATE_TEST_SUITE_P(Machines, ShippedDragonfly, testing::ValuesIn(shipped),
                         [](const auto& info) { return std::string(info.param.machine); });

TEST(ShippedDragonflies, AreAllInTheTable) {
  for (const std::string& name : known_platforms()) {
    if (!std::holds_alternative<DragonflyNetwork>(read_platform(name).network)) continue;
    EXPECT_NE(std::ranges::find(shipped, name, &Shipped::machine), shipped.end()) << name;
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
