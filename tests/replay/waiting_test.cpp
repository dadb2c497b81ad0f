// Who waits for whom, by hand: what of a wait is communication and what is for ranks that come
// later, whom that is put down to, and that cut loops say the same as whole ones.
#include <gtest/gtest.h>

#include "sim/replay/replay.hpp"
#include "tests/replay/programs.hpp"

namespace fourfold::tests {
namespace {

using on::data;
const ProcessGrid pair(1, 1, 1, 2);

// Rank 1 computes twice as long as rank 0.
Replay uneven(const TimedProgram& program, ReplayExtent extent) {
  ReplayOptions options;
  options.extent = extent;
  options.compute_factors = {1.0, 2.0};
  options.detail = DetailWanted::explanation;
  return replay_step(program, pair, read_platform("crossbar"), options);
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
  builder.cycle(1);
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
}

// In flight 4 s, all of which rank 0 waits for but the first 2 s, and rank 1 for 1 s.
TEST(Waiting, LeavesAsHiddenWhatFliesWhileARankComputes) {
  const Replay result = uneven(two_collectives(1), ReplayExtent::full);

  double hidden = 0.0;
  for (const ClassUse& use : result.detail->classes) {
    hidden += (result.outcome.busy[data] + use.late[data] - use.exposed[data]).value;
  }
  EXPECT_NEAR(result.outcome.busy[data].value, 4.0, 1e-12);
  EXPECT_NEAR(hidden, 2.0 + 3.0, 1e-12);
}

// Rank 1 posts the second collective 4 s after rank 0 began to wait: 2 s for each of two devices.
TEST(Waiting, IsPutDownToTheLastToPost) {
  const Replay result = uneven(two_collectives(1), ReplayExtent::full);

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
  builder.cycle(1);
  const TimedProgram program = builder.take();

  const Replay cut = uneven(program, ReplayExtent::extrapolated);

  ASSERT_TRUE(cut.extrapolated);
  EXPECT_NEAR(cut.detail->flights.at(0).mean.value, 1.0, 1e-12);
  EXPECT_NEAR(cut.detail->flights.at(1).mean.value, 2.0, 1e-12);
  EXPECT_NEAR(cut.outcome.busy[data].value, 1.0 + 99 * 2.0, 1e-9);
}

}  // namespace
}  // namespace fourfold::tests
