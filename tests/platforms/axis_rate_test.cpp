// The closed form against brute force: the footprints of all lines of an axis, added up on every
// link.
//
// Seen over all axes of jobs from 4 to 8,192 devices, on Frontier (8 devices and 4 NICs a node,
// groups of 128 nodes) and Perlmutter (4 and 4). Powers of two: to 1e-9 with minimal routing and
// with 3 local and 8 global detours; with 15 and 32 (12) detours 0.1 % on average and 15 % at
// worst. On Alps (groups of 112 nodes, which no power of two divides) and on irregular jobs: 3 to 7
// % on average with detours, up to 20 % with minimal routing, where single messages may collide; no
// case is off by more than a factor of 2.
#include "platforms/network/axis_rate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/machines.hpp"
#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

// Groups of 112 nodes, four devices and NICs each.
Platform alps(Detours detours) {
  Platform platform = dragonfly("alps", mesh_node(4, 150), 24, detours);
  dragonfly_of(platform).nodes_per_group = 112;
  platform.nodes = 24 * 112;
  return platform;
}

TEST(axis_rate, of_one_device_moves_nothing) {
  EXPECT_TRUE(std::isinf(AxisRates(frontier()).rate(8, 1, 64).value));
}

// Equation (7) of the paper: NICs of a node / min(devices per node, stride).
TEST(axis_rate, across_nodes_shares_the_nics_as_in_equation_7) {
  const AxisRates rates(perlmutter());

  EXPECT_NEAR(rates.rate(1, 16, 64).value, 100 * giga, 1.0);
  EXPECT_NEAR(rates.rate(2, 16, 64).value, 50 * giga, 1.0);
  EXPECT_NEAR(rates.rate(4, 16, 64).value, 25 * giga, 1.0);
  EXPECT_NEAR(rates.rate(8, 8, 64).value, 25 * giga, 1.0);
}

TEST(axis_rate, inside_a_node_counts_the_siblings) {
  const AxisRates rates(frontier());

  EXPECT_NEAR(rates.rate(1, 8, 8).value, 152 * giga, 1.0);
  EXPECT_NEAR(rates.rate(1, 2, 8).value, 148 * giga, 1.0);
  // {0,2,4,6} and {1,3,5,7} use different links.
  EXPECT_NEAR(rates.rate(2, 4, 8).value, 76 * giga, 1.0);
  // {0,4}, {1,5}, {2,6}, {3,7}: only 1-5 and 3-7 have links of their own.
  EXPECT_LE(rates.rate(4, 2, 8).value, 38 * giga * (1 + 1e-9));
}

TEST(axis_rate, between_groups_is_the_bundle_and_its_detours) {
  // Every device of group 0 talks to group 1: 1,024 flows over 4 x 25 GB/s.
  EXPECT_NEAR(AxisRates(frontier()).rate(1024, 2, 2048).value, 100 * giga / 1024, 1.0);
  EXPECT_NEAR(AxisRates(frontier({3, 8})).rate(1024, 2, 2048).value, 900 * giga / 1024, 1.0);
}

TEST(axis_rate, of_powers_of_two_equals_brute_force) {
  for (Detours detours : {Detours{0, 0}, Detours{3, 8}, Detours{1, 4}}) {
    for (std::int64_t devices : {4, 8, 64, 512, 2048}) {
      EXPECT_LT(errors(frontier(detours), devices).worst_factor, 1.02) << devices;
      EXPECT_LT(errors(perlmutter(detours), devices).worst_factor, 1.02) << devices;
    }
  }
}

TEST(axis_rate, of_irregular_grids_is_near_brute_force) {
  for (std::int64_t devices : {6, 24, 96, 480, 1536}) {
    for (const Platform& platform :
         {frontier({3, 8}), perlmutter({3, 8}), alps({3, 8}), frontier(), perlmutter()}) {
      const Errors found = errors(platform, devices);

      EXPECT_LT(found.mean, 0.12) << platform.name << " " << devices;
      EXPECT_LE(found.worst_factor, 2.0 + 1e-9) << platform.name << " " << devices;
    }
  }
}

TEST(axis_rate, where_groups_are_not_powers_of_two_stays_within_a_factor_of_two) {
  for (std::int64_t devices : {1024, 2048}) {
    EXPECT_LT(errors(alps({3, 8}), devices).mean, 0.05);
    EXPECT_LE(errors(alps({3, 8}), devices).worst_factor, 1.5);
    EXPECT_LE(errors(alps({0, 0}), devices).worst_factor, 2.0 + 1e-9);
  }
}

// With as many detours as the platform files of the study assume: 15 local, nearly all groups, and
// twelve links a group pair on the machines with few groups.
TEST(axis_rate, with_very_many_detours_is_near_brute_force) {
  Platform perlmutter_like = dragonfly("perlmutter", mesh_node(4, 100), 14, {15, 12});
  dragonfly_of(perlmutter_like).links_per_group_pair = 12;
  Platform alps_like = alps({15, 22});
  dragonfly_of(alps_like).switches_per_group = 28;
  dragonfly_of(alps_like).links_per_group_pair = 12;
  for (const Platform& platform : {frontier({15, 32}), perlmutter_like, alps_like}) {
    const Errors regular = errors(platform, 2048);
    const Errors irregular = errors(platform, 1152);

    EXPECT_LT(regular.mean, 0.05) << platform.name;
    EXPECT_LT(regular.worst_factor, 1.5) << platform.name;
    EXPECT_LT(irregular.mean, 0.10) << platform.name;
    EXPECT_LT(irregular.worst_factor, 2.0) << platform.name;
  }
}

// More detours are no slower as long as the detours' own traffic does not bind.
TEST(axis_rate, grows_with_global_detours) {
  double last = 0.0;
  for (std::int64_t detours : {0, 1, 4, 8, 16}) {
    const double rate = AxisRates(frontier({3, detours})).rate(1024, 8, 8192).value;
    EXPECT_GT(rate, last);
    last = rate;
  }
}

TEST(axis_rate, refuses_a_platform_that_has_no_topology) {
  Platform platform = frontier();
  platform.node.nics.clear();

  EXPECT_THROW(AxisRates{platform}, std::invalid_argument);
}

// Where one micro-batch goes through a pipeline a stage has the links to itself, as a job of its
// own has; the more follow each other, the more stages are at work side by side.
TEST(AxisRates, OfAStageFallWithTheMicroBatchesThatFollowEachOther) {
  int slower = 0;
  for (const std::string machine : fixed_machines) {
    const Platform platform = read_platform(path_of_machine(machine));
    const AxisRates rates(platform);
    for (const std::int64_t in_stage : {4, 6, 12}) {
      for (const std::int64_t extent : {2, 3}) {
        const std::int64_t stages = 24 / in_stage;
        const std::int64_t stride = in_stage / extent;
        if (in_stage % extent != 0) continue;
        SCOPED_TRACE(fmt::format("{}: {} lines of {} in each of {} stages", machine, stride, extent,
                                 stages));
        const auto rate = [&](std::int64_t index, std::int64_t in_flight) {
          return rates.rate(stride, extent, 24, {in_stage, stages, index, in_flight}).value;
        };
        EXPECT_NEAR(rate(0, 1), rates.rate(stride, extent, in_stage).value, 1e-9 * rate(0, 1));
        for (std::int64_t index = 0; index < stages; ++index) {
          double before = rate(index, 1);
          for (const std::int64_t in_flight : {2, 3, 8, 1'000'000, 0}) {
            const double now = rate(index, in_flight);
            EXPECT_LE(now, before * (1.0 + 1e-9));
            before = now;
          }
          EXPECT_NEAR(rate(index, 0), rate(index, 1'000'000'000), 1e-6 * before);
          EXPECT_LE(rate(Slice::slowest, 2), rate(index, 2) * (1.0 + 1e-9));
          slower += rate(index, 0) < 0.99 * rate(index, 1);
        }
      }
    }
  }
  EXPECT_GT(slower, 5);
}

}  // namespace
}  // namespace fourfold::tests
