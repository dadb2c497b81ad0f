// Warm-up and decay of the learning rate, and how much of a run is done.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>
#include <vector>

#include "engine/train/run/learning_rate.hpp"
#include "engine/train/run/trained_before.hpp"

namespace fourfold::tests {
namespace {

constexpr std::array decays{RateDecay::cosine, RateDecay::linear, RateDecay::wsd,
                            RateDecay::constant};

// By a step's number, of a run of steps.
double rate_of(const LearningRate& rate, std::int64_t steps, std::int64_t step) {
  return rate.at({.steps = steps, .minutes = 0.0}, {.steps_before = step - 1});
}

struct DrawnRate {
  LearningRate rate;
  std::int64_t steps = 0;
};

// The same for every decay.
std::vector<DrawnRate> drawn_rates() {
  std::vector<DrawnRate> drawn;
  for (const RateDecay decay : decays) {
    std::mt19937_64 random(7);
    const auto whole = [&](std::int64_t least, std::int64_t most) {
      return std::uniform_int_distribution<std::int64_t>(least, most)(random);
    };
    for (int i = 0; i < 200; ++i) {
      const std::int64_t steps = whole(1, i % 2 == 0 ? 12 : 3000);
      drawn.push_back({{.peak = 1e-4 * static_cast<double>(whole(1, 100)),
                        .last_part = 0.05 * static_cast<double>(whole(0, 20)),
                        .warm_up_steps = whole(0, steps),
                        .decay = decay,
                        .decay_part = 0.01 * static_cast<double>(whole(1, 100))},
                       steps});
    }
  }
  return drawn;
}

// The formulas of nanoGPT and Megatron-LM, with N steps, W of warm-up, and step s counted from 1:
// s / W of the peak to step W; then, from step W + 1 on, by p = (s - 1 - W) / (N - W). Straight
// lines reach the last rate in step N: there the divisor is less by one.
double formula(const DrawnRate& drawn, std::int64_t step) {
  const LearningRate& rate = drawn.rate;
  const auto n = static_cast<double>(drawn.steps), w = static_cast<double>(rate.warm_up_steps);
  const double least = rate.peak * rate.last_part;
  const auto s = static_cast<double>(step);
  if (step <= rate.warm_up_steps) return rate.peak * s / w;
  const double p = (s - 1 - w) / (n - w);
  switch (rate.decay) {
    case RateDecay::constant:
      return rate.peak;
    case RateDecay::cosine:
      return least + (rate.peak - least) * (1 + std::cos(std::numbers::pi * p)) / 2;
    case RateDecay::linear:
      return rate.peak - (rate.peak - least) * (n - 1 > w ? (s - 1 - w) / (n - 1 - w) : 0.0);
    case RateDecay::wsd: {
      const double begin = std::max(w, n * (1 - rate.decay_part));
      if (n - 1 <= begin) return s == n && n - 1 > w ? least : rate.peak;
      return rate.peak - (rate.peak - least) * std::max(0.0, s - 1 - begin) / (n - 1 - begin);
    }
  }
  return 0.0;
}

TEST(LearningRate, IsThatOfTheFormulaAtEveryStepOfEveryDecay) {
  for (const DrawnRate& drawn : drawn_rates()) {
    const std::int64_t stride = std::max<std::int64_t>(1, drawn.steps / 50);
    for (std::int64_t step = 1; step <= drawn.steps; step += stride) {
      ASSERT_NEAR(rate_of(drawn.rate, drawn.steps, step), formula(drawn, step),
                  1e-12 * drawn.rate.peak)
          << name(drawn.rate.decay) << " step " << step << " of " << drawn.steps << ", warm-up "
          << drawn.rate.warm_up_steps;
    }
  }
}

// As the last step of the warm-up and, where there is one, as the first behind it; to the last bit.
TEST(LearningRate, ReachesItsPeakExactlyAndNeverExceedsIt) {
  for (const DrawnRate& drawn : drawn_rates()) {
    const std::int64_t warm = drawn.rate.warm_up_steps;
    if (warm > 0) {
      EXPECT_EQ(rate_of(drawn.rate, drawn.steps, warm), drawn.rate.peak);
    }
    if (warm < drawn.steps) {
      EXPECT_EQ(rate_of(drawn.rate, drawn.steps, warm + 1), drawn.rate.peak);
    }
    double most = 0.0;
    for (std::int64_t step = 1; step <= drawn.steps; ++step) {
      most = std::max(most, rate_of(drawn.rate, drawn.steps, step));
    }
    EXPECT_EQ(most, drawn.rate.peak);
  }
}

// Said exactly where the rate falls in fewer steps than asked for.
TEST(LearningRate, SaysWhereTheWarmUpReachesIntoTheDecay) {
  LearningRate rate{.warm_up_steps = 90, .decay = RateDecay::wsd, .decay_part = 0.2};

  EXPECT_EQ(squeezed_decay(rate, {.steps = 100}),
            "the warm-up of 90 steps reaches into the last 0.2 of the run, in which the learning "
            "rate is to fall: it falls in the last 0.1 alone (--warm-up, --decay-part)");
  EXPECT_EQ(squeezed_decay(rate, {.steps = 0, .minutes = 1.0}), "");
  for (const DrawnRate& drawn : drawn_rates()) {
    const double warm = static_cast<double>(drawn.rate.warm_up_steps);
    const bool squeezed = drawn.rate.decay == RateDecay::wsd &&
                          warm / static_cast<double>(drawn.steps) > 1 - drawn.rate.decay_part;
    EXPECT_EQ(!squeezed_decay(drawn.rate, {.steps = drawn.steps, .minutes = 0.0}).empty(),
              squeezed);
  }
}

// When the warm-up ended is known for the steps that it had; of others it is reckoned.
TEST(LearningRate, GoesOnFromTheWarmUpThatACheckpointHas) {
  TrainingState state;
  state.step = 12;
  state.trainer = {{"trained_seconds", 6.0}, {"warm_up", {{"steps", 4}, {"seconds", 3.0}}}};
  const auto seconds = [&](std::int64_t steps) {
    return trained_before({.warm_up_steps = steps}, state).seconds_of_warm_up;
  };

  EXPECT_EQ(std::vector({seconds(4), seconds(8), seconds(20)}), (std::vector{3.0, 4.0, 6.0}));
  state.trainer.erase("warm_up");
  EXPECT_EQ(seconds(4), 2.0);
}

// What a run has before a step does not depend on where it was resumed, to the last bit; nor do
// minutes, where the clock says the same.
TEST(LearningRate, IsTheSameWhereverTheRunWasResumed) {
  for (const DrawnRate& drawn : drawn_rates()) {
    const RunLength length{.steps = drawn.steps, .minutes = 7.0};
    const std::int64_t step = 1 + drawn.steps / 2;
    const double whole = drawn.rate.at(
        length, {.steps_here = step, .seconds_here = 256.0, .seconds_of_warm_up = 64.0});
    for (const std::int64_t before : {std::int64_t{0}, step / 3, step}) {
      EXPECT_EQ(drawn.rate.at(length, {.steps_before = before,
                                       .steps_here = step - before,
                                       .seconds_before = 128.0,
                                       .seconds_here = 128.0,
                                       .seconds_of_warm_up = 64.0}),
                whole);
    }
  }
}

// The decay begins where the clock was when the warm-up ended.
TEST(LearningRate, FollowsTheClockOfARunOfMinutes) {
  const LearningRate rate{.peak = 2.0, .last_part = 0.0, .warm_up_steps = 4};
  const RunLength length{.steps = 0, .minutes = 2.0};
  const auto at = [&](std::int64_t steps, double seconds) {
    return rate.at(length,
                   {.steps_here = steps, .seconds_here = seconds, .seconds_of_warm_up = 20.0});
  };

  EXPECT_DOUBLE_EQ(at(0, 0.0), 0.5);
  EXPECT_DOUBLE_EQ(at(2, 15.0), 1.5);
  EXPECT_EQ(at(4, 20.0), 2.0);
  EXPECT_DOUBLE_EQ(at(9, 70.0), 1.0);
  EXPECT_NEAR(at(99, 120.0), 0.0, 1e-15);
}

TEST(LearningRate, SaysWhatAShortRunDoesNotReach) {
  const LearningRate rate{.peak = 2.0, .last_part = 0.0, .warm_up_steps = 100};

  EXPECT_EQ(unfinished_warm_up(rate, 0), "");
  EXPECT_EQ(unfinished_warm_up(rate, 100), "");
  EXPECT_EQ(unfinished_warm_up(rate, 50),
            "the warm-up of 100 steps is longer than the run of 50: the learning rate ends at 1, "
            "not at its peak (--warm-up)");
}

TEST(LearningRate, IsDescribedByItsDecay) {
  const LearningRate rate{
      .peak = 2e-3, .last_part = 0.1, .warm_up_steps = 3, .decay = RateDecay::wsd};

  EXPECT_EQ(described(rate),
            "learning rate 0.002 after 3 steps of warm-up, wsd in the last 0.2 to 0.0002");
  for (const RateDecay decay : decays) EXPECT_EQ(parse_rate_decay(name(decay)), decay);
  EXPECT_THROW(parse_rate_decay("exponential"), std::invalid_argument);
}

// With whichever limit is over first; one of steps does not look at the clock.
TEST(RunLength, SaysHowMuchIsDone) {
  const RunLength steps{.steps = 200, .minutes = 0.0}, both{.steps = 100, .minutes = 1.0};

  for (const double seconds : {1.0, 1e6}) {
    EXPECT_DOUBLE_EQ(steps.done({.steps_before = 20, .steps_here = 30, .seconds_here = seconds}),
                     0.25);
  }
  EXPECT_DOUBLE_EQ(both.done({.steps_here = 10, .seconds_before = 15, .seconds_here = 30}), 0.75);
  EXPECT_DOUBLE_EQ(both.done({.steps_here = 90, .seconds_before = 15, .seconds_here = 30}), 0.9);
  EXPECT_DOUBLE_EQ(both.done({.steps_here = 101, .seconds_here = 90}), 1.0);
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
}  // namespace fourfold::tests
