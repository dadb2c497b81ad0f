// The references against the default: whole layers with stock SimGrid communications, per ring edge
// and step by step.
#include "sim/replay/stock_network.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "sim/estimate.hpp"
#include "sim/replay/replay.hpp"

namespace fourfold {
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
  Point point;
  point.platform = "frontier";
  point.model = {"gpt-two-layers", 2, 7680, 120, 2048, 51'200};
  point.grid = grid;
  point.global_batch = 2 * grid.extent(Axis::z) * grid.extent(Axis::data);
  return point;
}

double seconds(const Point& point, const Platform& platform, ReplayOptions options,
               Carrier carrier) {
  options.carrier = carrier;
  options.extent = ReplayExtent::full;
  return replay(lower(point, platform), point.grid, platform, options).outcome.total.value;
}

// The default against both references.
void expect_agreement(const ProcessGrid& grid, const Platform& platform,
                      const ReplayOptions& options, double bound) {
  const Point point = two_layers(grid);

  const double flows = seconds(point, platform, options, Carrier::flows);
  const double edges = seconds(point, platform, options, Carrier::stock_edges);
  const double steps = seconds(point, platform, options, Carrier::stock_steps);

  EXPECT_NEAR(flows, edges, bound * edges) << platform.name << " " << grid.str();
  EXPECT_NEAR(flows, steps, bound * steps) << platform.name << " " << grid.str();
}

constexpr double agreement = 1e-3;

TEST(StockNetwork, AgreesWithFlowsOnACrossbar) {
  for (const char* name : {"crossbar", "crossbar-shared"}) {
    expect_agreement(ProcessGrid(2, 2, 3, 2), read_platform(name), {}, 1e-5);
    expect_agreement(ProcessGrid(3, 1, 4, 2), read_platform(name), {}, 1e-5);
  }
}

TEST(StockNetwork, AgreesWithFlowsOnMachines) {
  for (const char* name : {"frontier", "perlmutter"}) {
    const Platform platform = on_minimal_routes(name);
    for (const ProcessGrid& grid : {ProcessGrid(4, 2, 4, 1), ProcessGrid(2, 3, 4, 3),
                                    ProcessGrid(8, 2, 4, 1)}) {
      expect_agreement(grid, platform, {}, agreement);
    }
  }
}

TEST(StockNetwork, AgreesWithFlowsOnANarrowNetwork) {
  for (const char* name : {"frontier", "perlmutter"}) {
    const Platform platform = narrow_dragonfly(name);
    expect_agreement(ProcessGrid(8, 2, 4, 2), platform, {}, agreement);
    expect_agreement(ProcessGrid(2, 4, 4, 4), platform, {}, agreement);
  }
}

TEST(StockNetwork, SLOW_AgreesWithFlowsOn512Devices) {
  const Platform platform = on_minimal_routes("frontier");
  expect_agreement(ProcessGrid(8, 4, 4, 4), platform, {}, agreement);
}

TEST(StockNetwork, RefusesWhatItCannotDo) {
  const Platform spread = read_platform("frontier");
  const Point point = two_layers(ProcessGrid(2, 2, 4, 128));
  ReplayOptions options;
  options.carrier = Carrier::stock_steps;
  const TimedProgram program = lower(point, spread);

  EXPECT_THROW(replay(program, point.grid, spread, options), std::invalid_argument);
  options.carrier = Carrier::stock_edges;
  EXPECT_THROW(replay(program, point.grid, spread, options), std::invalid_argument);
}

}  // namespace
}  // namespace fourfold
