// When repetitions of a loop count as alike: each quantity that is compared, programs whose
// repetitions drift apart only slowly; how many attempts there are, and how much of one is done.
#include "sim/replay/extrapolation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "sim/replay/replay.hpp"
#include "tests/golden.hpp"
#include "tests/replay/cases.hpp"

namespace fourfold::tests {
namespace {

const ProcessGrid grid(2, 2, 2, 2);

const Platform& crossbar() {
  return platform_named("crossbar");
}

// Micro-batches of 2 ms of compute beside reduce-scatters of `flight` seconds, each waited for two
// micro-batches later: the channel falls behind until it holds the ranks up.
TimedProgram falling_behind(double flight, std::int64_t micro_batches) {
  ProgramBuilder builder;
  const std::int32_t nothing = builder.collective(on::z_reduce, 0.0, 0.0, 1.0);
  const std::int32_t scatter = builder.collective(on::z_reduce, flight, 0.0, 1.0);
  builder.post(nothing);
  builder.post(nothing);
  builder.cycle(1);
  builder.compute(2e-3);
  builder.post(scatter);
  builder.wait(on::z_reduce, 2);
  builder.cycle(micro_batches);
  builder.wait(on::z_reduce, 0);
  return builder.take();
}

// The channel falls 0.1 ms behind a micro-batch and may be 4 ms late: the first forty are alike but
// for that, and what they take is 4.7 % less than what the others take.
TEST(Extrapolation, SeesACycleThatFallsBehindBeforeItHoldsAnybodyUp) {
  const TimedProgram program = falling_behind(2.1e-3, 200);

  const Replay extended = replay_step(program, grid, crossbar());
  const Replay whole = replay_step(program, grid, crossbar(), full());

  EXPECT_NEAR(whole.outcome.total.value, 2e-3 + 200 * 2.1e-3, 1e-9);
  EXPECT_NEAR(extended.outcome.total.value, whole.outcome.total.value, 1e-9);
  EXPECT_GT(extended.attempts, 1);
}

// Whoever accepts such a cycle says how far its repetitions differ: by 0.1 ms of lag in 2 ms.
TEST(Extrapolation, SaysByHowMuchAnAcceptedCycleDrifts) {
  const TimedProgram program = falling_behind(2.1e-3, 200);
  ReplayOptions lenient;
  lenient.tolerance = 0.06;

  const Replay accepted = replay_step(program, grid, crossbar(), lenient);

  EXPECT_TRUE(accepted.extrapolated);
  EXPECT_EQ(accepted.attempts, 1);
  EXPECT_NEAR(accepted.disagreement, 0.05, 1e-6);
}

TEST(Extrapolation, ExtendsACycleThatKeepsPaceFromTwoRepetitions) {
  const TimedProgram program = falling_behind(1.9e-3, 200);

  const Replay extended = replay_step(program, grid, crossbar());

  EXPECT_EQ(extended.attempts, 1);
  EXPECT_NEAR(extended.disagreement, 0.0, 1e-9);
  EXPECT_NEAR(extended.outcome.total.value, 200 * 2e-3 + 1.9e-3, 1e-9);
}

TEST(Extrapolation, SpendsOneWorkLimitOnAllItsAttempts) {
  const TimedProgram program = falling_behind(2.1e-3, 50);
  const Replay unlimited = replay_step(program, grid, crossbar());
  ReplayOptions enough;
  enough.work_limit = unlimited.work;
  ReplayOptions too_little;
  too_little.work_limit = unlimited.work - 1;

  ASSERT_GT(unlimited.attempts, 1);
  EXPECT_NO_THROW(replay_step(program, grid, crossbar(), enough));
  EXPECT_THROW(replay_step(program, grid, crossbar(), too_little), FlowNetwork::TooMuchWork);
}

// Posted together after 1 s of compute: they end after 3 and 6 s, and the next segment's after 8.
TEST(SegmentTimes, EndAChannelWithTheLastCollectiveThatTheSegmentPosts) {
  ProgramBuilder builder;
  const std::int32_t two_seconds = builder.collective(on::data, 2.0, 0.0, 1.0);
  const std::int32_t three_seconds = builder.collective(on::data, 3.0, 0.0, 1.0);
  builder.compute(1.0);
  builder.post(two_seconds);
  builder.post(three_seconds);
  builder.run(1);
  builder.post(two_seconds);
  builder.run(1);
  builder.wait(on::data, 0);
  Case one(0);
  one.platform = &crossbar();
  one.grid = ProcessGrid(1, 1, 1, 3);
  one.options.mapping = {};
  one.program = builder.take();

  const std::vector<SegmentTimes> times = times_of(one);

  ASSERT_EQ(times.size(), 3U);
  EXPECT_DOUBLE_EQ(times[0].channels[on::data].end, 6.0);
  EXPECT_DOUBLE_EQ(times[0].channels[on::data].busy, 5.0);
  EXPECT_DOUBLE_EQ(times[1].channels[on::data].end, 8.0);
  EXPECT_EQ(times[2].channels[on::data].end, 0.0);
  EXPECT_DOUBLE_EQ(times[2].channels[on::data].exposed, 7.0);
}

// A loop of 100 layers, of which three are walked, in each of 50 micro-batches, of which two are.
struct Walked {
  TimedProgram program;
  IssueStream stream;
  std::vector<SegmentTimes> times;  // all repetitions alike

  Walked() {
    ProgramBuilder builder;
    builder.compute(1.0);
    builder.run(100);
    builder.cycle(50);
    program = builder.take();
    stream = unroll(program, grid, {{3}, {2}}).front();
    for (std::size_t s = 0; s < stream.segments.size(); ++s) {
      SegmentTimes segment;
      segment.end = static_cast<double>(s + 1);
      segment.last_end = segment.end;
      segment.channels.resize(program.channels.size());
      segment.channels[0].exposed = 0.25;
      segment.channels[1].end = segment.end + 0.5;
      times.push_back(segment);
    }
  }
  Disagreement found() const { return disagreement(program, {stream}, {times}); }
};

TEST(Disagreement, OfRepetitionsThatAreAlikeIsNone) {
  const Disagreement found = Walked().found();

  ASSERT_EQ(found.runs.size(), 1U);
  ASSERT_EQ(found.cycles.size(), 1U);
  EXPECT_NEAR(found.largest(), 0.0, 1e-12);
}

// The last layer of the second micro-batch differs from the one before it by 0.1 s, and stands for
// 98. Of the mean rank it takes longer, as does its micro-batch: 109.8 instead of 100.
TEST(Disagreement, ComparesEachQuantityInRunsAndCycles) {
  struct Change {
    std::function<void(SegmentTimes&)> apply;
    double run, cycle;
  };
  const std::vector<Change> changes{
      {[](SegmentTimes& last) { last.end += 0.1, last.channels[1].end += 0.1; }, 0.1 / 1.1,
       9.8 / 109.8},
      {[](SegmentTimes& last) { last.last_end += 0.1; }, 0.1, 9.8 / 100.0},
      {[](SegmentTimes& last) { last.channels[0].exposed -= 0.1; }, 0.1, 9.8 / 100.0},
      {[](SegmentTimes& last) { last.channels[1].end += 0.1; }, 0.1, 0.1 / 100.0}};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Walked walked;
    changes[i].apply(walked.times[5]);

    const Disagreement found = walked.found();

    EXPECT_NEAR(found.runs[0], changes[i].run, 1e-12) << i;
    EXPECT_NEAR(found.cycles[0], changes[i].cycle, 1e-12) << i;
  }
}

// A layer of the first micro-batch that differs from the one before it.
TEST(Disagreement, RemembersTheWorstOfARunInAllRepetitionsOfItsCycle) {
  Walked walked;
  for (std::size_t i = 2; i < 6; ++i) walked.times[i].last_end += 0.1;

  EXPECT_NEAR(walked.found().runs[0], 0.1, 1e-12);
}

// What is charged for a collective beside compute grows from one micro-batch to the next until the
// wait is for one that was posted five micro-batches before.
TEST(FirstRepetitions, AreAsManyAsTheComputeOfACycleNeedsToSettle) {
  ProgramBuilder builder;
  const std::int32_t scatter = builder.collective(on::z_reduce, 1.0, 0.0, 1.0);
  builder.interference(0.09);
  for (int i = 0; i < 5; ++i) builder.post(scatter);
  builder.cycle(1);
  builder.compute(1e-3);
  builder.post(scatter);
  builder.wait(on::z_reduce, 5);
  builder.cycle(100);
  const TimedProgram program = builder.take();

  const Repetitions first = first_repetitions(program, grid);

  EXPECT_GT(first.cycles[1], 5);
  EXPECT_LT(first.cycles[1], 100);
}

TEST(Attempts, AreAsManyAsTheGoldenOnes) {
  std::string text;
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    TimedProgram program = random_program(seed);
    for (StepRun& run : program.runs) run.repeats = run.repeats == 1 ? 1 : 50;
    for (RunCycle& cycle : program.cycles) cycle.repeats = 7;
    ReplayOptions options;
    options.tolerance = seed % 2 == 0 ? 1e-3 : 1e-6;
    const Replay found =
        replay_step(program, ProcessGrid(2, 1, 2, 2), platform_named("perlmutter"), options);
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
  ReplayOptions options = full();
  std::vector<double> parts;
  options.progress = [&](double done) { parts.push_back(done); };

  replay_step(training_program(training), ProcessGrid(2, 2, 2, 2), platform_named("perlmutter"),
              options);

  ASSERT_FALSE(parts.empty());
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  EXPECT_GT(parts.back(), 0.5);
  EXPECT_LE(parts.back(), 1.0);
}

}  // namespace
}  // namespace fourfold::tests
