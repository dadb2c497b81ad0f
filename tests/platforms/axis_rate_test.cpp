// The closed form against brute force, the footprints of all lines of an axis added up on every
// link: over all axes of jobs, as near as it ever was, so that what a changed boundary case costs
// shows here.
#include "platforms/network/axis_rate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/machines.hpp"
#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

TEST(AxisShares, OfLinesInOneGroupHaveNoLinkBetweenGroups) {
  const Platform platform = dragonfly("small", mesh_node(4, 100), 8, {0, 0});
  const AxisRates rates(platform);
  std::vector<LinkShare> shares;
  rates.shares({platform.node.devices, 4, 4 * platform.node.devices}, {}, shares);
  ASSERT_FALSE(shares.empty());
  for (const LinkShare& one : shares) EXPECT_NE(one.link, rates.links() - 1);
}

// Groups of 112 nodes, four devices and NICs each.
Platform alps(Detours detours) {
  Platform platform = dragonfly("alps", mesh_node(4, 150), 24, detours);
  dragonfly_of(platform).nodes_per_group = 112;
  platform.nodes = 24 * 112;
  return platform;
}

// With as many detours as the platform files of the study assume: 15 local, nearly all groups, and
// twelve links a group pair on the machines with few groups.
Platform perlmutter_as_shipped() {
  Platform platform = dragonfly("perlmutter", mesh_node(4, 100), 14, {15, 12});
  dragonfly_of(platform).links_per_group_pair = 12;
  return platform;
}

Platform alps_as_shipped() {
  Platform platform = alps({15, 22});
  dragonfly_of(platform).switches_per_group = 28;
  dragonfly_of(platform).links_per_group_pair = 12;
  return platform;
}

// Eight nodes below a unit, of which half can leave it, four units below a pod.
Platform tapered(std::int64_t rails) {
  return fat_tree(switched_node(8, 300), rails, {{8, 2.0}, {4, 3.0}, {4, 1.0}});
}

Platform cube() {
  return torus(mesh_node(4, 300), {8, 4, 8});
}

// Jobs of so many devices, with at most this mean deviation and this worst factor.
struct Nearness {
  Platform platform;
  std::vector<std::int64_t> jobs;
  double mean = 0.0, worst = 1.0;
};

void expect_near(const std::vector<Nearness>& all) {
  for (const auto& [platform, jobs, mean, worst] : all) {
    for (const std::int64_t devices : jobs) {
      if (devices > platform.devices()) continue;
      const Errors found = errors(platform, devices);
      EXPECT_LE(found.mean, mean + 1e-9) << platform.name << ' ' << devices;
      EXPECT_LE(found.worst_factor, worst + 1e-9) << platform.name << ' ' << devices;
    }
  }
}

TEST(axis_rate, of_powers_of_two_on_dragonflies_is_near_brute_force) {
  const std::vector<std::int64_t> jobs{4, 8, 64, 512, 2048};
  for (Detours detours : {Detours{0, 0}, Detours{3, 8}, Detours{1, 4}}) {
    expect_near({{frontier(detours), jobs, 0.02, 1.02}, {perlmutter(detours), jobs, 0.02, 1.02}});
  }
}

// Of groups of 112 nodes too, which no power of two divides; single messages may collide.
TEST(axis_rate, of_irregular_grids_on_dragonflies_is_near_brute_force) {
  const std::vector<std::int64_t> irregular{6, 24, 96, 480, 1536};
  expect_near({{frontier({3, 8}), irregular, 0.12, 2.0},
               {perlmutter({3, 8}), irregular, 0.12, 2.0},
               {alps({3, 8}), irregular, 0.12, 2.0},
               {frontier(), irregular, 0.12, 2.0},
               {perlmutter(), irregular, 0.12, 2.0},
               {alps({3, 8}), {1024, 2048}, 0.05, 1.5},
               {alps({0, 0}), {1024, 2048}, 0.19, 2.0}});
}

TEST(axis_rate, with_very_many_detours_is_near_brute_force) {
  for (const Platform& platform :
       {frontier({15, 32}), perlmutter_as_shipped(), alps_as_shipped()}) {
    expect_near({{platform, {2048}, 0.05, 1.5}, {platform, {1152}, 0.10, 2.0}});
  }
}

// Which cells the detours of a pair go through is drawn, and the closed form has their mean: a link
// can get more. With as many detours as cells nothing is drawn.
TEST(axis_rate, on_dragonflies_plus_is_off_by_what_is_drawn_alone) {
  const std::vector<std::int64_t> jobs{16, 24, 64, 96, 128, 384, 480, 512};
  expect_near({{dragonfly_plus(8, 16, 0), jobs},
               {dragonfly_plus(8, 5, 0), jobs},
               {dragonfly_plus(8, 8, 3), {64, 128, 512}},
               {dragonfly_plus(8, 8, 6), {64, 128, 512}},
               {dragonfly_plus(8, 16, 6), {96, 384, 480}},
               {dragonfly_plus(8, 16, 3), {96, 384, 480}, 0.003, 1.17},
               {read_platform("juwels-booster"), {256, 1024, 1536}, 0.006, 1.14},
               {read_platform("leonardo"), {256, 1024, 1536}, 0.006, 1.14}});
}

// Exact without rails, and with rails where strides keep a device's rail.
TEST(axis_rate, on_fat_trees_is_off_on_rails_alone) {
  const std::vector<std::int64_t> powers{64, 128, 512, 1024}, all{8, 24, 96, 480, 512, 1024};
  expect_near({{tapered(1), all},
               {fat_tree(mi250x_node(), 1, {{3, 1.5}, {5, 2.0}, {10, 1.0}}), all},
               {tapered(2), powers},
               {tapered(4), powers},
               {tapered(8), powers},
               {fat_tree(mi250x_node(), 2, {{4, 2.0}, {4, 3.0}, {4, 1.0}}), {64, 128, 512}},
               {fat_tree(mi250x_node(), 4, {{4, 2.0}, {4, 3.0}, {4, 1.0}}), {64, 128, 512}},
               {tapered(2), {480}, 0.0786, 2.0},
               {tapered(4), {480}, 0.0537, 1.8334},
               {tapered(8), {96}, 0.0094, 1.2667},
               {tapered(8), {480}, 0.0135, 1.2364}});
  for (const char* name : {"dgx-h100", "selene", "summit", "meta-24k-h100", "jean-zay"}) {
    expect_near({{read_platform(name), {36, 60, 96, 108, 320, 512}}});
  }
}

// Lines of irregular grids straddle rows of routers.
TEST(axis_rate, on_tori_is_near_brute_force) {
  const Platform ring = torus(mesh_node(2, 300), {16});
  expect_near({{cube(), {4, 32, 128}},
               {cube(), {1024}, 0.0037, 1.125},
               {read_platform("torus"), {512}, 0.0017, 1.0236},
               {ring, {4, 8, 16, 32}},
               {ring, {24}, 0.0967, 2.0},
               {cube(), {96}, 0.1251, 2.0},
               {cube(), {480}, 0.2542, 2.5},
               {torus(mesh_node(4, 300), {6, 5}), {120}, 0.1848, 2.0}});
}

TEST(axis_rate, is_what_is_worked_out_by_hand) {
  struct Worked {
    Platform platform;
    std::int64_t stride, extent, devices;
    double rate;  // GB/s
  };
  const std::vector<Worked> all{
      // Equation (7) of the paper: NICs of a node / min(devices per node, stride).
      {perlmutter(), 1, 16, 64, 100},
      {perlmutter(), 2, 16, 64, 50},
      {perlmutter(), 4, 16, 64, 25},
      {perlmutter(), 8, 8, 64, 25},
      // Inside a node siblings count: {0,2,4,6} and {1,3,5,7} use different links.
      {frontier(), 1, 8, 8, 152},
      {frontier(), 1, 2, 8, 148},
      {frontier(), 2, 4, 8, 76},
      // Every device of group 0 talks to group 1: 1,024 flows over 4 links, or 9 times as many.
      {frontier(), 1024, 2, 2048, 100.0 / 1024},
      {frontier({3, 8}), 1024, 2, 2048, 900.0 / 1024},
      // Neighbouring leaves exchange all: 16 NICs go up through 8 links.
      {dragonfly_plus(4, 8, 0), 16, 2, 32, 12.5},
      {dragonfly_plus(4, 8, 0), 4, 4, 16, 25},
      // A taper binds where everybody leaves a unit or a pod, and not within, nor a long line.
      {tapered(1), 64, 2, 128, 12.5},
      {tapered(1), 256, 2, 1024, 25.0 / 6},
      {tapered(1), 8, 8, 64, 25},
      {tapered(1), 1, 1024, 1024, 200},
      {tapered(2), 64, 2, 128, 12.5},
      {tapered(4), 64, 2, 128, 12.5},
      // Four devices of a node send to the node 4 on, in a ring of 8: 2 messages each cross every
      // link in either direction.
      {cube(), 16, 2, 32, 25.0 / 8}};
  for (const auto& [platform, stride, extent, devices, rate] : all) {
    EXPECT_NEAR(AxisRates(platform).rate(stride, extent, devices).value, rate * giga, 1.0)
        << platform.name << ' ' << stride << " x " << extent << " of " << devices;
  }
  // {0,4}, {1,5}, {2,6}, {3,7}: only 1-5 and 3-7 have links of their own.
  EXPECT_LE(AxisRates(frontier()).rate(4, 2, 8).value, 38 * giga * (1 + 1e-9));
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
