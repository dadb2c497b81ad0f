// Who waits for whom, by hand: what of a wait is communication, what is for ranks that come later
// and what is bubble, whom that is put down to; that cut loops say the same as whole ones, and
// waits reach however far back.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/points.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

using on::data;
const ProcessGrid pair(1, 1, 1, 2);

const Platform& crossbar() {
  static const Platform platform = read_platform("crossbar");
  return platform;
}

// Rank 1 computes twice as long as rank 0.
Replay uneven(const TimedProgram& program, ReplayExtent extent) {
  ReplayOptions options;
  options.extent = extent;
  options.compute_factors = {1.0, 2.0};
  options.detail = DetailWanted::explanation;
  return replay_step(program, pair, crossbar(), options);
}

const ClassUse& of_rank_0(const Replay& result) {
  return result.detail->classes.at(1);
}
const ClassUse& of_rank_1(const Replay& result) {
  return result.detail->classes.at(0);  // the slow device's class is the first
}

// Compute of 1 and 3 s, each before a collective, of 3 and 1 s; then both are waited for.
TimedProgram two_collectives(std::int64_t repeats) {
  ProgramBuilder builder;
  const std::int32_t first = builder.collective(data, 3.0, 0.0, 1.0);
  const std::int32_t second = builder.collective(data, 1.0, 0.0, 1.0);
  builder.compute(1.0);
  builder.post(first);
  builder.compute(3.0);
  builder.post(second);
  builder.wait(data, 0);
  builder.run(repeats);
  return builder.take();
}

// Rank 0 posts at 1 and 4 s, rank 1 at 2 and 8 s: the collectives fly from 2 to 5 and from 8 to
// 9 s. Rank 0 waits from 4 to 9 s, for 1 s of the first, 3 s of nothing and 1 s of the second.
TEST(Waiting, IsLateOnlyWhileNoneOfTheGroupsCollectivesFlies) {
  const Replay result = uneven(two_collectives(1), ReplayExtent::full);

  EXPECT_NEAR(result.outcome.total.value, 9.0, 1e-12);
  EXPECT_NEAR(of_rank_0(result).exposed[data].value, 5.0, 1e-12);
  EXPECT_NEAR(of_rank_0(result).late[data].value, 3.0, 1e-12);
  EXPECT_NEAR(of_rank_1(result).exposed[data].value, 1.0, 1e-12);
  EXPECT_NEAR(of_rank_1(result).late[data].value, 0.0, 1e-12);
  EXPECT_NEAR(result.outcome.busy[data].value, 4.0, 1e-12);
  // Rank 1 posts the second one 4 s after rank 0 began to wait: 2 s for each of two devices.
  ASSERT_EQ(result.detail->latecomers.size(), 1U);
  EXPECT_EQ(result.detail->latecomers[0].rank, 1);
  EXPECT_NEAR(result.detail->latecomers[0].waited.value, 2.0, 1e-12);
}

TEST(Waiting, OfCutLoopsIsThatOfWholeOnes) {
  const Replay cut = uneven(two_collectives(60), ReplayExtent::extrapolated);
  const Replay whole = uneven(two_collectives(60), ReplayExtent::full);

  ASSERT_TRUE(cut.extrapolated);
  for (std::size_t c = 0; c < 2; ++c) {
    const ClassUse& some = cut.detail->classes.at(c);
    const ClassUse& all = whole.detail->classes.at(c);
    EXPECT_NEAR(some.compute.value, all.compute.value, 1e-9) << all.name;
    EXPECT_NEAR(some.exposed[data].value, all.exposed[data].value, 1e-9) << all.name;
    EXPECT_NEAR(some.late[data].value, all.late[data].value, 1e-9) << all.name;
  }
  EXPECT_NEAR(whole.detail->latecomers.at(0).waited.value, 60 * 2.0, 1e-9);
  EXPECT_NEAR(cut.detail->latecomers.at(0).waited.value, 60 * 2.0, 1e-9);
}

// What is expected of last members is exposed as often as it comes, walked or not.
TEST(Waiting, ExpectedOfCutLoopsIsThatOfWholeOnes) {
  TimedProgram program = two_collectives(60);
  for (TimedStep& step : program.steps) {
    if (step.kind == StepKind::wait) step.duration = Seconds{0.25};
  }
  const Replay cut = uneven(program, ReplayExtent::extrapolated);
  const Replay whole = uneven(program, ReplayExtent::full);
  const Replay without = uneven(two_collectives(60), ReplayExtent::full);

  ASSERT_TRUE(cut.extrapolated);
  for (std::size_t c = 0; c < 2; ++c) {
    const Seconds all = whole.detail->classes.at(c).exposed[data];
    EXPECT_NEAR(cut.detail->classes.at(c).exposed[data].value, all.value, 1e-9);
    EXPECT_GT(all.value, without.detail->classes.at(c).exposed[data].value);
  }
}

// One flight of 1 s and 99 of 2 s, of which few are walked.
TEST(Flights, OfCutLoopsHaveTheMeanOfWholeOnes) {
  ProgramBuilder builder;
  const std::int32_t gather = builder.collective(data, 1.0, 0.0, 1.0);
  const std::int32_t reduce = builder.collective(data, 0.0, 50e9, 1e12);  // 2 s by its port
  builder.post(gather);
  builder.wait(data, 0);
  builder.run(1);
  builder.post(reduce);
  builder.wait(data, 0);
  builder.run(99);
  const TimedProgram program = builder.take();

  const Replay cut = uneven(program, ReplayExtent::extrapolated);

  ASSERT_TRUE(cut.extrapolated);
  EXPECT_NEAR(cut.detail->flights.at(0).mean.value, 1.0, 1e-12);
  EXPECT_NEAR(cut.detail->flights.at(1).mean.value, 2.0, 1e-12);
  EXPECT_NEAR(cut.outcome.busy[data].value, 1.0 + 99 * 2.0, 1e-9);
}

// Two stages: the first sends `count` messages of 5 s after `late` seconds, the second one waits
// for the last of them after 1 s of compute.
TimedProgram sending(std::int32_t count, double late) {
  TimedProgram program;
  program.channels = {forward_from(0, 2)};
  for (std::int32_t stage : {0, 1}) {
    const auto first = static_cast<std::int32_t>(program.steps.size());
    program.collectives.push_back({0, CollectiveKind::send, {{5.0}, {}, {1.0}}, {5.0}});
    program.steps.push_back({StepKind::compute, 0, -1, 0, {stage == 0 ? late : 1.0}});
    for (std::int32_t i = 0; i < count; ++i) {
      program.steps.push_back({StepKind::post, 0, stage, 0, {}});
    }
    program.steps.push_back({StepKind::wait, 0, -1, 0, {}});
    program.runs.push_back({first, static_cast<std::int32_t>(program.steps.size()), 1});
    program.cycles.push_back({stage, stage + 1, 1});
    program.stages.push_back({stage, stage + 1});
  }
  return program;
}

TEST(Bubble, IsWhatTheEstimateHas) {
  for (std::int32_t count : {1, 2, 3}) {
    for (double late : {0.0, 1.0, 3.0, 30.0}) {
      const TimedProgram program = sending(count, late);

      const Outcome replayed = replay_step(program, {1, 1, 1, 1, 2}, crossbar()).outcome;

      const Outcome expected = estimate_step(program);
      EXPECT_NEAR(replayed.total.value, expected.total.value, 1e-9);
      EXPECT_NEAR(replayed.bubble.value, expected.bubble.value, 1e-9) << count << " " << late;
      EXPECT_NEAR(replayed.exposed[0].value, expected.exposed[0].value, 1e-9);
      EXPECT_NEAR(replayed.busy[0].value, expected.busy[0].value, 1e-9);
    }
  }
}

// Collectives of 1 s, posted together; at 5.7 s, when five are done, the first one is waited for.
// The 5.5 s of compute beside it let it run at a tenth of its speed: it ends 4.95 s later than it
// seems.
TEST(Waits, RememberWhenACollectiveEndedHoweverFarBackItIs) {
  for (std::int32_t back = 0; back < 20; ++back) {
    ProgramBuilder builder;
    const std::int32_t reduce = builder.collective(on::data, 1.0, 0.0, 1.0);
    builder.interference(0.0, 0.9);
    const std::int32_t other = builder.collective(on::x, 0.2, 0.0, 1.0);
    for (std::int32_t i = 0; i <= back; ++i) builder.post(reduce);
    builder.compute(5.5);
    builder.post(other);
    builder.wait(on::x, 0);
    builder.wait(on::data, back);

    const Outcome outcome = replay_step(builder.take(), {2, 1, 1, 4}, crossbar()).outcome;

    EXPECT_NEAR(outcome.total.value, 5.95, 1e-9) << back;
    EXPECT_NEAR(outcome.exposed[on::data].value, 0.25, 1e-9) << back;
  }
}

// Of more stages than are logged those that lie evenly between the first and the last.
TEST(Logs, OfManyStagesAreOfThirtyTwo) {
  for (std::int64_t stages : {2, 31, 32, 33, 40, 64}) {
    const Point point = made_up_point("crossbar", {"thin", stages, 48, 12, 8, 96},
                                      ProcessGrid(2, 1, 1, 1, stages), 2, with_micro_batches(2));
    ReplayOptions options;
    options.detail = DetailWanted::timeline;
    std::set<std::int64_t> expected{0, stages, 2 * stages - 1};  // ends and middle
    const std::int64_t shown = std::min<std::int64_t>(stages, 32);
    for (std::int64_t i = 0; i < shown; ++i) expected.insert(2 * (i * stages / shown));

    const Replay found = replay_step(lower(point, crossbar()), point.grid, crossbar(), options);

    std::vector<std::int64_t> ranks;
    for (const DeviceTimeline& one : found.detail->timelines) ranks.push_back(one.rank);
    EXPECT_EQ(ranks, std::vector<std::int64_t>(expected.begin(), expected.end())) << stages;
  }
}

}  // namespace
}  // namespace fourfold::tests
