// A few repetitions of each loop stand for all of them: for steps drawn over all options and any
// window of blocks in flight, of models deep enough to be cut, the extended replay is the full one.
#include <gtest/gtest.h>

#include <string>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/extrapolation.hpp"
#include "sim/replay/replay.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/points.hpp"

namespace fourfold::tests {
namespace {

// Communication from hidden to dominating, by width; stages of ZeRO come in turn.
DrawnStep deep_step(std::int64_t number) {
  for (std::int64_t attempt = 0;; ++attempt) {
    const Draw draw(number, attempt);
    const std::int64_t width = draw.of<std::int64_t>("width", {512, 1024, 4096});
    const std::int64_t layers = draw.of<std::int64_t>("layers", {20, 33, 48});
    const ProcessGrid grid(draw.of<std::int64_t>("x", {1, 2}), draw.of<std::int64_t>("y", {1, 2}),
                           draw.of<std::int64_t>("z", {1, 2, 4}),
                           draw.of<std::int64_t>("data", {1, 2}));
    DrawnStep step{{"deep", layers, width, 16, 256, 4096},
                   grid,
                   0,
                   drawn_options(draw, PipelineOrder::one_f_one_b, number % 4)};
    step.options.micro_batches = 1 + draw.below("micro-batches", 9);
    step.options.in_flight_blocks = draw.of<std::int64_t>(
        "in flight", {1, 2, 3, 4, 5, layers - 1, layers, layers + 1, 2 * layers, 1000});
    step.options.offload_bucket = 0;  // a crossbar's devices have no host
    step.batch = batch_unit(grid, step.options.micro_batches);
    if (find_misfit(step.model, grid, step.batch, step.options) == Misfit::none) return step;
  }
}

// What is said of the extended replay beside the full one: the whole, and its parts.
void expect_equal(const Outcome& extended, const Outcome& whole, const std::string& what) {
  EXPECT_NEAR(extended.total / whole.total, 1.0, 1e-6) << what;
  EXPECT_NEAR(extended.compute / whole.total, whole.compute / whole.total, 1e-6) << what;
  for (std::size_t c = 0; c < whole.channels.size(); ++c) {
    EXPECT_NEAR(extended.exposed[c] / whole.total, whole.exposed[c] / whole.total, 1e-6)
        << what << ": " << name(whole.channels[c]);
    EXPECT_NEAR(extended.busy[c] / whole.total, whole.busy[c] / whole.total, 1e-6)
        << what << ": " << name(whole.channels[c]);
  }
}

Point point_of(const DrawnStep& step, const Platform& platform) {
  return made_up_point(platform.name, step.model, step.grid, step.batch, step.options);
}

// Every third one with a slow device, for which the others wait where its replica meets theirs.
TEST(DrawnExtrapolations, EqualTheFullReplay) {
  const Platform platform = read_platform("crossbar");
  std::int64_t cut = 0;
  for (std::int64_t number = 0; number < 300; ++number) {
    const DrawnStep step = deep_step(number);
    const TimedProgram program = lower(point_of(step, platform), platform);
    ReplayOptions options;
    if (number % 3 == 0) {
      options.compute_factors.resize(static_cast<std::size_t>(step.grid.size()), 1.0);
      options.compute_factors.back() = 1.25;
    }

    const Replay extended = replay_step(program, step.grid, platform, options);
    options.extent = ReplayExtent::full;
    const Replay whole = replay_step(program, step.grid, platform, options);

    if (extended.extrapolated) ++cut;
    expect_equal(extended.outcome, whole.outcome, std::to_string(number) + ": " + words_of(step));
  }
  EXPECT_GT(cut, 200);
}

TEST(DrawnExtrapolations, AreNearTheFullReplayOnAMachineThatContends) {
  const Platform platform = read_platform("perlmutter");
  ReplayOptions full;
  full.extent = ReplayExtent::full;
  for (std::int64_t number = 0; number < 20; ++number) {
    const DrawnStep step = deep_step(number);
    const TimedProgram program = lower(point_of(step, platform), platform);

    const double extended = replay_step(program, step.grid, platform).outcome.total.value;
    const double whole = replay_step(program, step.grid, platform, full).outcome.total.value;

    EXPECT_NEAR(extended, whole, 1e-3 * whole) << number << ": " << words_of(step);
  }
}

// Up to three blocks, the three repetitions that are walked first hold all that waits reach.
TEST(InFlight, ShortWindowsAreWalkedBriefly) {
  const Platform platform = read_platform("crossbar");
  for (std::int64_t window : {1, 2, 3}) {
    DrawnStep step{{"small", 16, 1536, 12, 1024, 4096}, ProcessGrid(2, 1, 4, 2), 192, {}};
    step.options.micro_batches = 12;
    step.options.in_flight_blocks = window;

    const Repetitions walked =
        first_repetitions(lower(point_of(step, platform), platform), step.grid);

    for (std::int64_t one : walked.runs) EXPECT_LE(one, 3) << window;
    for (std::int64_t one : walked.cycles) EXPECT_LE(one, 2) << window;
  }
}

}  // namespace
}  // namespace fourfold::tests
