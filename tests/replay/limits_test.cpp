// Limits of a simulation: of work, of attempts; what it says on the way, and whose logs it keeps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/flow_network.hpp"
#include "sim/replay/replay.hpp"
#include "tests/golden.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

const Platform& perlmutter() {
  static const Platform platform = read_platform("perlmutter");
  return platform;
}

TEST(WorkLimit, IsWhatMayBeUsedUp) {
  const TimedProgram program = training_program(Training{});
  const ProcessGrid grid(2, 2, 2, 2);
  ReplayOptions options;
  options.extent = ReplayExtent::full;
  const Replay free = replay_step(program, grid, perlmutter(), options);
  ASSERT_EQ(free.attempts, 1);

  options.work_limit = free.work;
  EXPECT_EQ(replay_step(program, grid, perlmutter(), options).outcome.total, free.outcome.total);
  options.work_limit = free.work - 1;
  EXPECT_THROW(replay_step(program, grid, perlmutter(), options), FlowNetwork::TooMuchWork);
}

// What attempts that were not enough have used up counts.
TEST(WorkLimit, IsOfAllAttemptsTogether) {
  ReplayOptions options;
  options.tolerance = 1e-7;
  const ProcessGrid grid(2, 2, 2, 2);
  for (std::uint32_t seed = 1; seed < 40; ++seed) {
    TimedProgram program = random_program(seed);
    for (StepRun& run : program.runs) run.repeats = run.repeats == 1 ? 1 : 40;
    const Replay free = replay_step(program, grid, perlmutter(), options);
    if (free.attempts < 2) continue;

    options.work_limit = free.work;
    EXPECT_EQ(replay_step(program, grid, perlmutter(), options).attempts, free.attempts);
    options.work_limit = free.work - 1;
    EXPECT_THROW(replay_step(program, grid, perlmutter(), options), FlowNetwork::TooMuchWork);
    return;
  }
  FAIL() << "no program needed a second attempt";
}

TEST(Attempts, AreAsManyAsTheGoldenOnes) {
  std::string text;
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    TimedProgram program = random_program(seed);
    for (StepRun& run : program.runs) run.repeats = run.repeats == 1 ? 1 : 50;
    for (RunCycle& cycle : program.cycles) cycle.repeats = 7;
    ReplayOptions options;
    options.tolerance = seed % 2 == 0 ? 1e-3 : 1e-6;
    const Replay found = replay_step(program, ProcessGrid(2, 1, 2, 2), perlmutter(), options);
    text +=
        fmt::format("{}: {} attempts, {} collectives, {}, {:.6g}, {:.8g} s, {} events\n", seed,
                    found.attempts, found.collectives, found.extrapolated ? "extended" : "whole",
                    found.disagreement < 1e-9 ? 0.0 : found.disagreement, found.outcome.total.value,
                    found.events);
  }

  expect_golden("attempts.txt", text);
}

TEST(Progress, GrowsToAtMostOne) {
  Training training;
  training.layers = 40;
  training.micro_batches = 20;
  ReplayOptions options;
  options.extent = ReplayExtent::full;
  std::vector<double> parts;
  options.progress = [&](double done) { parts.push_back(done); };

  replay_step(training_program(training), ProcessGrid(2, 2, 2, 2), perlmutter(), options);

  ASSERT_FALSE(parts.empty());
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  EXPECT_GT(parts.back(), 0.5);
  EXPECT_LE(parts.back(), 1.0);
}

// Besides those of its classes a pipeline logs the first device of each stage.
TEST(Logs, OfAPipelineHaveADeviceOfEachStage) {
  Point point;
  point.platform = "selene";
  point.model = {"tiny", 6, 256, 8, 64, 512};
  point.grid = ProcessGrid(2, 1, 1, 2, 3);
  point.options.micro_batches = 4;
  point.global_batch = 8;
  const Platform platform = read_platform("selene");
  ReplayOptions options;
  options.detail = DetailWanted::timeline;

  const Replay found = replay_step(lower(point, platform), point.grid, platform, options);

  std::vector<std::int64_t> ranks;
  for (const DeviceTimeline& one : found.detail->timelines) ranks.push_back(one.rank);
  EXPECT_EQ(ranks, (std::vector<std::int64_t>{0, 4, 6, 8, 11}));
}

}  // namespace
}  // namespace fourfold::tests
