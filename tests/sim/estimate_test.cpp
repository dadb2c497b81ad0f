// The estimate of a folded program equals that of the program written out and a naive walk by the
// definition; hand-computed programs; what adds up.
#include "sim/estimate/estimate.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "schedule/fold/short_folds.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/model_file.hpp"
#include "tests/sim/programs.hpp"

namespace fourfold::tests {
namespace {

void expect_alike(const Outcome& a, const Outcome& b) {
  const double scale = 1e-12 * b.total.value;
  EXPECT_NEAR(a.total.value, b.total.value, scale);
  EXPECT_NEAR(a.compute.value, b.compute.value, scale);
  ASSERT_EQ(a.channels, b.channels);
  for (std::size_t c = 0; c < a.channels.size(); ++c) {
    EXPECT_NEAR(a.exposed[c].value, b.exposed[c].value, scale);
    EXPECT_NEAR(a.busy[c].value, b.busy[c].value, 1e-12 * b.busy[c].value + scale);
  }
}

void expect_adds_up(const Outcome& o) {
  EXPECT_NEAR((o.compute + o.exposed_total()).value, o.total.value, 1e-12 * o.total.value);
}

constexpr TimedStep compute(double seconds) {
  return {StepKind::compute, {}, -1, 0, {seconds}};
}
constexpr TimedStep post(ChannelNumber channel, std::int32_t collective) {
  return {StepKind::post, channel, collective, 0, {}};
}
constexpr TimedStep wait(ChannelNumber channel, std::int32_t back = 0) {
  return {StepKind::wait, channel, -1, back, {}};
}

// Steps done `repeats` times, with one collective of 3 s on x and one of 5 s on y.
TimedProgram loop(std::vector<TimedStep> steps, std::int64_t repeats,
                  Interference interference = {}) {
  TimedProgram p;
  p.channels = made_up_channels();
  p.runs = {{0, static_cast<std::int32_t>(steps.size()), repeats}};
  p.steps = std::move(steps);
  p.cycles = {{0, 1, 1}};
  p.collectives = {{on::x, {}, {}, {3}}, {on::y, {}, {}, {5}}};
  p.max_back = 1;
  for (TimedCollective& collective : p.collectives) collective.lost = interference;
  return p;
}

TEST(Estimate, OfAWaitRightAfterItsPostIsTheSum) {
  const Outcome o = estimate_step(loop({compute(2), post(on::x, 0), wait(on::x)}, 10));

  EXPECT_DOUBLE_EQ(o.total.value, 10 * (2 + 3));
  EXPECT_DOUBLE_EQ(o.compute.value, 20);
  EXPECT_DOUBLE_EQ(o.exposed[on::x].value, 30);
}

TEST(Estimate, OfComputeBesideACollectiveIsTheLonger) {
  const auto beside = [](double seconds) {
    return estimate_step(loop({post(on::x, 0), compute(seconds), wait(on::x)}, 7)).total.value;
  };

  EXPECT_DOUBLE_EQ(beside(2), 7 * 3);
  EXPECT_DOUBLE_EQ(beside(4), 7 * 4);
}

TEST(Estimate, OfTwoChannelsRunsThemSideBySideAndOneChannelInTurn) {
  const auto both =
      estimate_step(loop({post(on::x, 0), post(on::y, 1), wait(on::x), wait(on::y)}, 4));
  const auto in_turn = estimate_step(loop({post(on::x, 0), post(on::x, 0), wait(on::x)}, 4));

  EXPECT_DOUBLE_EQ(both.total.value, 4 * 5);
  EXPECT_DOUBLE_EQ(in_turn.total.value, 4 * (3 + 3));
  EXPECT_DOUBLE_EQ(both.busy[on::y].value, 4 * 5);
}

TEST(Estimate, OfAWaitForTheOneBeforeLetsTheLastRun) {
  // Every round waits for the post of the round before: of 100 posts 99 must end.
  const Outcome o = estimate_step(loop({post(on::x, 0), compute(2), wait(on::x, 1)}, 100));

  EXPECT_DOUBLE_EQ(o.total.value, 99 * 3);
}

TEST(Estimate, ChargesInterferenceForWhatRanBesideCompute) {
  const auto beside = [](double seconds, Interference lost) {
    return estimate_step(loop({post(on::x, 0), compute(seconds), wait(on::x)}, 1, lost));
  };
  // 1.8 s at 0.9 of their speed take 2 s, and the wait for the 3 s is shorter by as much.
  const Outcome o = beside(1.8, {0.1, 0.0});
  EXPECT_DOUBLE_EQ(o.compute.value, 2);
  EXPECT_DOUBLE_EQ(o.total.value, 3);
  // All 3 s beside 4 s of compute: 10 % of three.
  EXPECT_DOUBLE_EQ(beside(4, {0.1, 0.0}).total.value, 4.3);

  // In those 2 s the collective loses 1 s.
  const Outcome slowed = beside(1.8, {0.1, 0.5});
  EXPECT_DOUBLE_EQ(slowed.compute.value, 2);
  EXPECT_DOUBLE_EQ(slowed.exposed[on::x].value, 2);
  // It takes 6 s, in which kernels lose 0.6 s.
  EXPECT_DOUBLE_EQ(beside(8, {0.1, 0.5}).total.value, 8.6);
}

TEST(Estimate, OfLoopsIsThatOfTheProgramWrittenOut) {
  std::mt19937 random(31);
  for (int i = 0; i < 400; ++i) {
    const TimedProgram p = random_program(random, i < 300 ? 3 : 1 + i % 50);

    const Outcome folded = estimate_step(p);

    SCOPED_TRACE("program " + std::to_string(i));
    expect_alike(folded, estimate_step(unrolled(p)));
    EXPECT_NEAR(folded.total.value, naive_seconds(p), 1e-12 * folded.total.value);
    expect_adds_up(folded);
    if (HasFailure()) return;
  }
}

Point point_of(const std::string& platform, const std::string& model, const ProcessGrid& grid,
               std::int64_t micro_batches) {
  Point point;
  point.platform = platform;
  point.model = read_model(model);
  point.grid = grid;
  point.options.micro_batches = micro_batches;
  return point;
}

TEST(Estimate, OfRealStepsIsThatOfTheStepWrittenOut) {
  const Platform perlmutter = read_platform("perlmutter");
  for (const ProcessGrid& grid :
       {ProcessGrid(4, 2, 4, 16), ProcessGrid(1, 1, 512, 1), ProcessGrid(8, 8, 2, 4),
        ProcessGrid(2, 4, 8, 8), ProcessGrid(1, 4, 1, 128)}) {
    for (std::int64_t m : {1, 2, 4, 8, 16}) {
      TimedProgram p = lower(point_of("perlmutter", "gpt-5b", grid, m), perlmutter);
      p.loads.clear();  // what lanes share has tests of its own

      const Outcome folded = estimate_step(p);

      SCOPED_TRACE(grid.str() + " M=" + std::to_string(m));
      expect_alike(folded, estimate_step(unrolled(p)));
      EXPECT_NEAR(folded.total.value, naive_seconds(p), 1e-12 * folded.total.value);
      expect_adds_up(folded);
    }
  }
}

// The whole range that the command line takes: from one block to more than there are in the step.
TEST(Estimate, OfAnyInFlightWindowIsThatOfTheStepWrittenOut) {
  const Platform crossbar = read_platform("crossbar");
  const std::int64_t layers = 6;
  for (std::int64_t window :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}, std::int64_t{5}, layers,
        layers + 1, 2 * layers, std::int64_t{1000}}) {
    for (std::int64_t m : {1, 3, 8, 24}) {
      Point point;
      point.platform = "crossbar";
      point.model = {"gpt-small", layers, 768, 12, 256, 1024};
      point.grid = ProcessGrid(2, 2, 4, 2);
      point.global_batch = 192;
      point.options.micro_batches = m;
      point.options.in_flight_blocks = window;
      const TimedProgram p = lower(point, crossbar);

      const Outcome folded = estimate_step(p);

      SCOPED_TRACE("window " + std::to_string(window) + ", M=" + std::to_string(m));
      expect_alike(folded, estimate_step(unrolled(p)));
      EXPECT_NEAR(folded.total.value, naive_seconds(p), 1e-12 * folded.total.value);
      expect_adds_up(folded);
    }
  }
}

TEST(Estimate, OfAPointIsThatOfItsTimedProgram) {
  const Platform frontier = read_platform("frontier");
  const Point point = point_of("frontier", "gpt-10b", ProcessGrid(8, 2, 4, 16), 4);

  const Estimate e = estimate_step(point, frontier);

  expect_alike(e.outcome, estimate_step(lower(point, frontier)));
}

TEST(Estimate, AnEstimatorThatHasSeenOtherGridsSaysTheSame) {
  const Platform frontier = read_platform("frontier");
  const Point point = point_of("frontier", "gpt-10b", ProcessGrid(8, 2, 4, 16), 4);
  const std::vector<Folded> one_stage = folded_stages(point.model, point.options, 1);
  Estimator used(frontier, point);
  used.evaluate(one_stage, ProcessGrid(1, 1, 1024, 1), 4);
  used.evaluate(one_stage, ProcessGrid(2, 1, 1, 512), 4);

  const Estimate again = used.evaluate(one_stage, point.grid, 4);

  const Estimate fresh = estimate_step(point, frontier);
  EXPECT_EQ(again.outcome.total, fresh.outcome.total);
  EXPECT_EQ(again.memory.peak, fresh.memory.peak);
  EXPECT_EQ(again.counts.sent, fresh.counts.sent);
}

TEST(Estimate, RefusesAGridThatDoesNotFitInWords) {
  const Platform frontier = read_platform("frontier");
  const Point point = point_of("frontier", "gpt-10b", ProcessGrid(3, 1, 1, 1), 1);

  for (const auto& refused : {+[](const Point&p, const Platform&f) { estimate_step(p, f); },
                              +[](const Point&p, const Platform&f) { lower(p, f); }}) {
    try {
      refused(point, frontier);
      FAIL() << "accepted";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(),
                   misfit(point.model, point.grid, point.global_batch, point.options).c_str());
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
