// Both timed rungs interpret one program: where nothing contends they must give the same seconds,
// and where channels share a port the simulation must be the slower one.
#include <gtest/gtest.h>

#include "schedule/models/model_file.hpp"
#include "sim/replay/replay.hpp"
#include "tests/ladder/points.hpp"

namespace fourfold::tests {
namespace {

const Platform& platform(const std::string& name) {
  static const Platform own = read_platform("crossbar");
  static const Platform shared = read_platform("crossbar-shared");
  return name == "crossbar" ? own : shared;
}

void expect_equal(const Outcome& estimated, const Outcome& simulated, const std::string& what) {
  const double tolerance = 1e-6 * estimated.total.value;
  EXPECT_NEAR(estimated.total.value, simulated.total.value, tolerance) << what;
  EXPECT_NEAR(estimated.compute.value, simulated.compute.value, tolerance) << what;
  ASSERT_EQ(estimated.channels, simulated.channels);
  for (std::size_t c = 0; c < estimated.channels.size(); ++c) {
    EXPECT_NEAR(estimated.exposed[c].value, simulated.exposed[c].value, tolerance) << what;
    EXPECT_NEAR(estimated.busy[c].value, simulated.busy[c].value, tolerance) << what;
  }
}

void compare_on_private_ports(const Point& point) {
  const TimedProgram program = lower(point, platform("crossbar"));

  const Outcome estimated = estimate_step(program);
  const Outcome simulated = replay_step(program, point.grid, platform("crossbar")).outcome;

  expect_equal(estimated, simulated, describe(point));
}

TEST(Crossbar, EqualsTheEstimateWithEveryOption) {
  for (const ProcessGrid& grid : {ProcessGrid(2, 2, 2, 1), ProcessGrid(2, 2, 2, 4),
                                  ProcessGrid(3, 2, 4, 5), ProcessGrid(1, 4, 1, 6)}) {
    for (const StepOptions& options : option_sets()) {
      Point point = point_on("crossbar", short_model(), grid);
      point.options = options;
      point.global_batch *= options.micro_batches;
      compare_on_private_ports(point);
    }
  }
}

TEST(Crossbar, EqualsTheEstimateOnGridsOfEveryShape) {
  for (const ProcessGrid& grid :
       {ProcessGrid(8, 1, 1, 1), ProcessGrid(1, 8, 1, 1), ProcessGrid(1, 1, 8, 1),
        ProcessGrid(1, 1, 1, 8), ProcessGrid(3, 5, 1, 1), ProcessGrid(5, 3, 4, 3),
        ProcessGrid(4, 4, 8, 8), ProcessGrid(15, 4, 2, 3), ProcessGrid(2, 6, 16, 10)}) {
    Point point = point_on("crossbar", short_model(), grid);
    point.options.micro_batches = 2;
    compare_on_private_ports(point);
  }
}

TEST(Crossbar, EqualsTheEstimateOf4096Ranks) {
  for (const ProcessGrid& grid : {ProcessGrid(8, 4, 16, 8), ProcessGrid(4, 2, 8, 64)}) {
    Point point = point_on("crossbar", read_model("gpt-40b"), grid);
    compare_on_private_ports(point);
  }
}

TEST(Crossbar, EqualsTheEstimateOfABigModelWithManyMicroBatches) {
  Point point = point_on("crossbar", read_model("gpt-320b"), ProcessGrid(8, 4, 4, 2));
  point.global_batch = 64;
  point.options.micro_batches = 8;

  compare_on_private_ports(point);
}

TEST(Crossbar, ExtendedLayersEqualAllLayers) {
  for (const char* name : {"crossbar", "crossbar-shared"}) {
    Point point = point_on(name, read_model("gpt-10b"), ProcessGrid(4, 2, 4, 2));
    point.options.micro_batches = 2;
    const TimedProgram program = lower(point, platform(name));
    ReplayOptions all;
    all.extent = ReplayExtent::full;

    const Replay extended = replay_step(program, point.grid, platform(name));
    const Replay whole = replay_step(program, point.grid, platform(name), all);

    EXPECT_TRUE(extended.extrapolated);
    EXPECT_LT(extended.collectives, whole.collectives);
    expect_equal(whole.outcome, extended.outcome, describe(point));
  }
}

TEST(SharedPort, IsNeverFasterThanTheEstimate) {
  const Platform& shared = platform("crossbar-shared");
  for (const ProcessGrid& grid : {ProcessGrid(2, 2, 2, 2), ProcessGrid(3, 2, 4, 5),
                                  ProcessGrid(8, 1, 1, 1), ProcessGrid(1, 1, 4, 4)}) {
    for (const StepOptions& options : option_sets()) {
      Point point = point_on("crossbar-shared", short_model(), grid);
      point.options = options;
      point.global_batch *= options.micro_batches;
      const TimedProgram program = lower(point, shared);

      const double estimated = estimate_step(program).total.value;
      const double simulated = replay_step(program, grid, shared).outcome.total.value;

      EXPECT_GE(simulated, estimated * (1.0 - 1e-4)) << describe(point);
    }
  }
}

// Gathers along z fly beside the all-reduces along x and y, and the port is too narrow for both:
// without the port the estimate is faster.
TEST(SharedPort, IsSharedOnBothRungs) {
  const Platform& shared = platform("crossbar-shared");
  for (const ProcessGrid& grid :
       {ProcessGrid(2, 2, 2, 2), ProcessGrid(3, 2, 4, 5), ProcessGrid(4, 4, 8, 8)}) {
    const Point point = point_on("crossbar-shared", short_model(), grid);
    TimedProgram program = lower(point, shared);

    const double estimated = estimate_step(program).total.value;
    const double simulated = replay_step(program, grid, shared).outcome.total.value;
    program.loads.clear();
    const double apart = estimate_step(program).total.value;

    EXPECT_GT(estimated, apart * 1.001) << describe(point);
    EXPECT_NEAR(simulated, estimated, 1e-3 * estimated) << describe(point);
  }
}

// With a single axis nothing else is in flight, so there is nothing to share with.
TEST(SharedPort, IsNoSlowerWhereOneChannelIsAlone) {
  const Platform& shared = platform("crossbar-shared");
  for (const ProcessGrid& grid : {ProcessGrid(8, 1, 1, 1), ProcessGrid(1, 1, 1, 8)}) {
    const Point point = point_on("crossbar-shared", short_model(), grid);
    const TimedProgram program = lower(point, shared);

    expect_equal(estimate_step(program), replay_step(program, grid, shared).outcome,
                 describe(point));
  }
}

}  // namespace
}  // namespace fourfold::tests
