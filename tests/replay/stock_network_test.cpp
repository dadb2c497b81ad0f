// The references against the default: whole layers with stock SimGrid communications, per ring edge
// and step by step.
#include "sim/replay/stock_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/points.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

// Minimal routes, as a stock communication takes one path.
Platform on_minimal_routes(const std::string& name) {
  Platform platform = read_platform(name);
  auto& network = std::get<DragonflyNetwork>(platform.network);
  network.local_detours = 0;
  network.global_detours = 0;
  return platform;
}

// A dragonfly so small that 128 nodes fill it: much is shared.
Platform narrow_dragonfly(const std::string& name) {
  Platform platform = on_minimal_routes(name);
  platform.nodes = 128;
  auto& network = std::get<DragonflyNetwork>(platform.network);
  network.groups = 16;
  network.nodes_per_group = 8;
  network.switches_per_group = 4;
  network.links_per_group_pair = 1;
  return platform;
}

Point two_layers(const ProcessGrid& grid) {
  return made_up_point("frontier", {"gpt-two-layers", 2, 7680, 120, 2048, 51'200}, grid,
                       2 * grid.extent(Axis::z) * grid.extent(Axis::data));
}

double seconds(const Point& point, const Platform& platform, ReplayOptions options,
               Carrier carrier) {
  options.carrier = carrier;
  options.extent = ReplayExtent::full;
  TimedProgram program = lower(point, platform);
  program.loads.clear();  // stock links know no plateau that a node's rings share
  return replay_step(program, point.grid, platform, options).outcome.total.value;
}

struct Totals {
  double flows = 0.0;
  double edges = 0.0;
  double steps = 0.0;
};

Totals of_all_carriers(const Point& point, const Platform& platform, const ReplayOptions& options) {
  return {seconds(point, platform, options, Carrier::flows),
          seconds(point, platform, options, Carrier::stock_edges),
          seconds(point, platform, options, Carrier::stock_steps)};
}

constexpr double agreement = 1e-3;

void expect_agreement(const ProcessGrid& grid, const Platform& platform,
                      const ReplayOptions& options, double bound) {
  const auto [flows, edges, steps] = of_all_carriers(two_layers(grid), platform, options);

  EXPECT_NEAR(flows, edges, bound * edges) << platform.name << " " << grid.str();
  EXPECT_NEAR(flows, steps, bound * steps) << platform.name << " " << grid.str();
}

ReplayOptions placed_at_random(const ProcessGrid& grid, const Platform& platform,
                               std::uint64_t seed) {
  ReplayOptions options;
  options.mapping = Mapping::random(grid.size(), platform, seed);
  return options;
}

TEST(StockNetwork, AgreesWithFlowsOnACrossbar) {
  for (const char* name : {"crossbar", "crossbar-shared"}) {
    expect_agreement(ProcessGrid(2, 2, 3, 2), read_platform(name), {}, 1e-5);
    expect_agreement(ProcessGrid(3, 1, 4, 2), read_platform(name), {}, 1e-5);
  }
}

// Packed; on nodes drawn from the whole machine, where rings of many groups meet on single links
// between groups; and on a narrow network.
TEST(StockNetwork, AgreesWithFlowsOnMachines) {
  for (const char* name : {"frontier", "perlmutter"}) {
    const Platform platform = on_minimal_routes(name);
    for (const ProcessGrid& grid :
         {ProcessGrid(4, 2, 4, 1), ProcessGrid(2, 3, 4, 3), ProcessGrid(8, 2, 4, 1)}) {
      expect_agreement(grid, platform, {}, agreement);
    }
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const ProcessGrid grid(2, 3, 4, 2);
      expect_agreement(grid, platform, placed_at_random(grid, platform, seed), agreement);
    }
    for (const ProcessGrid& grid : {ProcessGrid(8, 2, 4, 2), ProcessGrid(2, 4, 4, 4)}) {
      expect_agreement(grid, narrow_dragonfly(name), {}, agreement);
    }
  }
}

// Where rings crowd on few cables between groups the references themselves part: an edge of a true
// ring that is ahead waits for the bytes it is to pass on, an edge for itself goes on, is done
// early, and leaves its links to others. No model can be within 0.1 % of both there. Ours is the
// second: within 0.1 % of the communications per edge, and as far from the true ring as these are,
// which was 0.4 % with one cable between groups of eight nodes, and 4 % at worst on Polaris' seven
// between groups of 56.
void expect_edges(const std::vector<Platform>& platforms, const std::vector<ProcessGrid>& grids,
                  std::uint64_t seeds) {
  double widest = 0.0;
  for (const Platform& platform : platforms) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      for (const ProcessGrid& grid : grids) {
        const auto [flows, edges, steps] =
            of_all_carriers(two_layers(grid), platform, placed_at_random(grid, platform, seed));

        const double apart = std::abs(edges - steps) / steps;
        EXPECT_NEAR(flows, edges, agreement * edges)
            << platform.name << " " << grid.str() << " " << seed;
        EXPECT_NEAR(flows, steps, (apart + agreement) * steps)
            << platform.name << " " << grid.str() << " " << seed;
        EXPECT_LT(apart, 0.05) << platform.name << " " << grid.str() << " " << seed;
        widest = std::max(widest, apart);
      }
    }
  }
  EXPECT_GT(widest, agreement);  // they do part, or the tests above would cover these cases
}

TEST(StockNetwork, FollowsTheEdgesWhereTheReferencesPart) {
  expect_edges({narrow_dragonfly("perlmutter")},
               {ProcessGrid(8, 2, 4, 1), ProcessGrid(1, 1, 16, 4)}, 1);
}

TEST(StockNetwork, SLOW_FollowsTheEdgesWhereTheReferencesPart) {
  expect_edges({narrow_dragonfly("frontier"), narrow_dragonfly("perlmutter"),
                on_minimal_routes("polaris"), on_minimal_routes("alps")},
               {ProcessGrid(8, 2, 4, 1), ProcessGrid(2, 3, 4, 3)}, 2);
  // On whole machines the references part by up to 0.4 %.
  expect_edges({on_minimal_routes("frontier"), on_minimal_routes("perlmutter")},
               {ProcessGrid(8, 2, 4, 1), ProcessGrid(8, 2, 4, 2), ProcessGrid(2, 4, 4, 4),
                ProcessGrid(1, 1, 16, 4)},
               4);
  expect_agreement(ProcessGrid(8, 4, 4, 4), on_minimal_routes("frontier"), {}, agreement);
}

// Both kinds ride one channel, as small gradients and sharded ones do along z.
TEST(StockNetwork, GivesEveryCollectiveTheStepsOfItsKind) {
  const auto communications = [](CollectiveKind kind) {
    ProgramBuilder builder;
    builder.post(builder.collective(on::z_reduce, 1e-5, 1e6, 25e9, kind));
    builder.wait(on::z_reduce, 0);
    ReplayOptions options;
    options.carrier = Carrier::stock_steps;
    return replay_step(builder.take(), ProcessGrid(1, 1, 4, 1), read_platform("crossbar"), options)
        .events;
  };

  EXPECT_EQ(communications(CollectiveKind::reduce_scatter), 4 * 3);
  EXPECT_EQ(communications(CollectiveKind::all_reduce), 4 * 2 * 3);
}

}  // namespace
}  // namespace fourfold::tests
