// Both timed rungs interpret one program: of steps drawn over all options they give the same
// seconds where nothing contends, and where channels share a port the simulation is no faster.
#include <gtest/gtest.h>

#include "schedule/models/model_file.hpp"
#include "sim/conditions/conditions.hpp"
#include "sim/replay/replay.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/ladder/points.hpp"
#include "tests/points.hpp"

namespace fourfold::tests {
namespace {

// A step on a crossbar, of any phase and any order of the ranks, with chunks that have no layer.
Point drawn_on(const std::string& platform, std::int64_t number) {
  const DrawnStep step = drawn_step(number, 64);
  const Draw draw(number, 0);
  Point point = made_up_point(platform, step.model, step.grid, step.batch, step.options);
  point.options.offload_bucket = 0;  // there is no link to the host
  point.options.overlap.across_blocks = !draw.often("across", 30);
  point.options.data_bucket = draw.of<std::int64_t>("data bucket", {0, 0, 5000, 4'000'000});
  point.options.phase = draw.of("phase", {Phase::training, Phase::training, Phase::training,
                                          Phase::evaluation, Phase::prefill, Phase::decode});
  if (!point.options.trains()) point.options.sequence_parallel = false;  // of single tokens
  point.options.rank_order =
      draw.of("rank order", {RankOrder(), RankOrder(), RankOrder::parse("x,y,z,pipe,data"),
                             RankOrder::parse("pipe,data,z,y,x")});
  const std::int64_t chunks = step.grid.extent(Axis::pipe) * step.options.chunks;
  if (step.options.chunks > 1 && draw.often("empty ends", 30)) point.model.layers = chunks - 2;
  return point;
}

TEST(Crossbar, EqualsTheEstimateOfEveryDrawnStep) {
  for (std::int64_t number = 0; number < 120; ++number) {
    const Point point = drawn_on("crossbar", number);
    const TimedProgram program = lower(point, crossbar());
    ReplayOptions options;
    options.mapping = mapping_of(point, crossbar());

    const Outcome estimated = estimate_step(program);
    const Outcome simulated = replay_step(program, point.grid, crossbar(), options).outcome;

    if (point.options.order != PipelineOrder::message_driven || !point.options.trains()) {
      expect_equal(estimated, simulated, describe(point));
      continue;
    }
    // Those who are told wait for the word, and the one who chooses for the message: the same
    // seconds, but on other channels.
    const double tolerance = 1e-6 * estimated.total.value;
    EXPECT_NEAR(estimated.total.value, simulated.total.value, tolerance) << describe(point);
    EXPECT_NEAR(estimated.compute.value, simulated.compute.value, tolerance) << describe(point);
    EXPECT_NEAR(estimated.exposed_total().value, simulated.exposed_total().value, tolerance)
        << describe(point);
  }
}

TEST(Crossbar, EqualsTheEstimateOf4096Ranks) {
  const Point point = point_on("crossbar", read_model("gpt-40b"), {8, 4, 16, 8});
  const TimedProgram program = lower(point, crossbar());

  expect_equal(estimate_step(program), replay_step(program, point.grid, crossbar()).outcome,
               describe(point));
}

TEST(SharedPort, IsNeverFasterThanTheEstimate) {
  const Platform& shared = crossbar("crossbar-shared");
  for (std::int64_t number = 0; number < 60; ++number) {
    const Point point = drawn_on("crossbar-shared", number);
    if (point.options.order == PipelineOrder::message_driven) continue;
    const TimedProgram program = lower(point, shared);
    ReplayOptions options;
    options.mapping = mapping_of(point, shared);

    const double estimated = estimate_step(program).total.value;
    const double simulated = replay_step(program, point.grid, shared, options).outcome.total.value;

    EXPECT_GE(simulated, estimated * (1.0 - 1e-4)) << describe(point);
  }
}

// Gathers along z fly beside the all-reduces along x and y, and the port is too narrow for both:
// without the port the estimate is faster. With a single axis nothing else is in flight.
TEST(SharedPort, IsSharedOnBothRungs) {
  const Platform& shared = crossbar("crossbar-shared");
  for (const ProcessGrid& grid : {ProcessGrid(2, 2, 2, 2), ProcessGrid(3, 2, 4, 5),
                                  ProcessGrid(4, 4, 8, 8), ProcessGrid(8, 1, 1, 1)}) {
    const Point point = point_on("crossbar-shared", short_model(), grid);
    TimedProgram program = lower(point, shared);

    const Outcome estimated = estimate_step(program);
    const Outcome simulated = replay_step(program, grid, shared).outcome;
    program.loads.clear();
    const double apart = estimate_step(program).total.value;

    if (grid.size() == 8) {
      expect_equal(estimated, simulated, describe(point));
      continue;
    }
    const double seconds = estimated.total.value;
    EXPECT_GT(seconds, apart * 1.001) << describe(point);
    EXPECT_NEAR(simulated.total.value, seconds, 1e-3 * seconds) << describe(point);
  }
}

// The estimate gives every collective the rate it has among the sibling groups of its axis: the
// mean over links of a kind. The simulation resolves single links, so a ring that happens to lie on
// less loaded ones may be a little faster; the sum over channels and layers stays within this.
constexpr double faster_by_at_most = 0.05;

TEST(Machines, ContentionCostsTime) {
  for (const char* name : {"frontier", "perlmutter"}) {
    for (const ProcessGrid& grid :
         {ProcessGrid(2, 2, 2, 2), ProcessGrid(4, 2, 4, 2), ProcessGrid(8, 4, 4, 4),
          ProcessGrid(1, 2, 16, 4), ProcessGrid(3, 4, 2, 5), ProcessGrid(2, 1, 1, 32)}) {
      const Point point = point_on(name, short_model(), grid);
      const Platform platform = read_platform(name);
      const TimedProgram program = lower(point, platform);

      const double estimated = estimate_step(program).total.value;
      const double simulated = replay_step(program, grid, platform).outcome.total.value;

      EXPECT_GE(simulated, estimated * (1.0 - faster_by_at_most)) << describe(point);
    }
  }
}

TEST(Machines, TwoRunsGiveTheSameBits) {
  const Platform platform = read_platform("frontier");
  const Point point = point_on("frontier", short_model(), ProcessGrid(5, 4, 8, 3));
  ReplayOptions jittered;
  for (std::int64_t rank = 0; rank < point.grid.size(); ++rank) {
    jittered.compute_factors.push_back(1.0 + 1e-3 * static_cast<double>(rank * 37 % 20));
  }
  for (const ReplayOptions& options : {ReplayOptions{}, jittered}) {
    const TimedProgram program = lower(point, platform);

    const Replay first = replay_step(program, point.grid, platform, options);
    const Replay second = replay_step(program, point.grid, platform, options);

    EXPECT_EQ(first.outcome.total.value, second.outcome.total.value);
    EXPECT_EQ(first.outcome.compute.value, second.outcome.compute.value);
    EXPECT_EQ(first.outcome.exposed, second.outcome.exposed);
    EXPECT_EQ(first.outcome.busy, second.outcome.busy);
    EXPECT_EQ(first.events, second.events);
  }
}

}  // namespace
}  // namespace fourfold::tests
