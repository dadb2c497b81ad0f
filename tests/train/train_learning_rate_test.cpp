// Warm-up, cosine, and how much of a run is done.
#include <gtest/gtest.h>

#include "engine/train/run/run_length.hpp"

namespace fourfold {
namespace {

TEST(LearningRate, WarmsUpInAStraightLine) {
  const LearningRate rate{.peak = 2.0, .last_part = 0.0, .warm_up_steps = 4};

  EXPECT_DOUBLE_EQ(rate.at(1, 0.0), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(3, 0.0), 1.5);
  EXPECT_DOUBLE_EQ(rate.at(4, 0.0), 2.0);
  EXPECT_DOUBLE_EQ(rate.at(400, 0.0), 2.0);
}

TEST(LearningRate, FollowsHalfACosineToItsLastPart) {
  const LearningRate rate{.peak = 2.0, .last_part = 0.1, .warm_up_steps = 0};

  EXPECT_DOUBLE_EQ(rate.at(1, 0.0), 2.0);
  EXPECT_DOUBLE_EQ(rate.at(1, 0.5), 2.0 * (0.1 + 0.9 * 0.5));
  EXPECT_DOUBLE_EQ(rate.at(1, 1.0), 0.2);
  EXPECT_GT(rate.at(1, 0.25), rate.at(1, 0.26));
}

TEST(RunLength, OfStepsDoesNotLookAtTheClock) {
  const RunLength length{.steps = 200, .minutes = 0.0};

  EXPECT_DOUBLE_EQ(length.done({.steps_before = 20, .steps_here = 30, .seconds_here = 1.0}), 0.25);
  EXPECT_DOUBLE_EQ(length.done({.steps_before = 20, .steps_here = 30, .seconds_here = 1e6}), 0.25);
}

TEST(RunLength, EndsWithWhicheverLimitIsOverFirst) {
  const RunLength length{.steps = 100, .minutes = 1.0};

  EXPECT_DOUBLE_EQ(length.done({.steps_here = 10, .seconds_before = 15, .seconds_here = 30}), 0.75);
  EXPECT_DOUBLE_EQ(length.done({.steps_here = 90, .seconds_before = 15, .seconds_here = 30}), 0.9);
  EXPECT_DOUBLE_EQ(length.done({.steps_here = 101, .seconds_here = 90}), 1.0);
}

TEST(RunLength, KnowsTheTimeLeftFromTheSpeedOfThisRun) {
  const RunLength steps{.steps = 100, .minutes = 0.0};
  const RunLength both{.steps = 100, .minutes = 1.0};
  const Trained trained{
      .steps_before = 40, .steps_here = 10, .seconds_before = 30, .seconds_here = 20};

  EXPECT_DOUBLE_EQ(steps.seconds_left({.steps_before = 40}), -1.0);
  EXPECT_DOUBLE_EQ(steps.seconds_left(trained), 100.0);
  EXPECT_DOUBLE_EQ(both.seconds_left(trained), 10.0);
}

}  // namespace
}  // namespace fourfold
