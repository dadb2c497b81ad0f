// Advice: Young's and Daly's formulas, the choice among numbers of devices, and amounts as typed.
#include "scaling/find/advice.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "platforms/operation.hpp"
#include "scaling/text/advice_text.hpp"
#include "scaling/words/amounts.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

CheckpointCost cost_of(double between, double write, double restart) {
  return {{between}, {write}, {restart}};
}

TEST(Failures, TakeYoungsIntervalOfTwiceTheWriteTimesTheTimeBetween) {
  EXPECT_DOUBLE_EQ(young_interval(cost_of(7'200.0, 4.0, 0.0)).value, 240.0);
}

TEST(Failures, HaveDalysIntervalNearTheLeastStretch) {
  const CheckpointCost cost = cost_of(20'000.0, 300.0, 600.0);

  const double best = stretch(cost, daly_interval(cost));

  for (double other : {0.5, 0.8, 1.25, 2.0}) {
    EXPECT_GT(stretch(cost, daly_interval(cost) * other), best) << other;
  }
  EXPECT_LT(stretch(cost, daly_interval(cost)), stretch(cost, young_interval(cost)));
}

TEST(Failures, CostNothingWhereNothingFailsAndCheckpointsAreFree) {
  EXPECT_NEAR(stretch(cost_of(1e12, 0.0, 600.0), {3'600.0}), 1.0, 1e-6);
}

TEST(Failures, StretchWithoutEndWhereAnIntervalIsNeverReached) {
  EXPECT_TRUE(std::isinf(stretch(cost_of(1.0, 10.0, 0.0), {10'000.0})));
}

TEST(Failures, CheckpointOnceBetweenFailuresWhereOneTakesTwiceAsLong) {
  EXPECT_EQ(daly_interval(cost_of(100.0, 250.0, 0.0)).value, 100.0);
}

// Days and nodes of some options.
Advice advice_among(const std::vector<std::pair<double, std::int64_t>>& days_and_nodes) {
  Advice advice;
  for (const auto& [days, nodes] : days_and_nodes) {
    AdviceOption option;
    option.step_days = days;
    option.nodes = nodes;
    advice.options.push_back(option);
  }
  return advice;
}

TEST(Advice, TakesTheFewestNodeHoursThatMeetTheDeadline) {
  Advice advice = advice_among({{100.0, 1}, {52.0, 2}, {28.0, 4}, {16.0, 8}});
  advice.wish.deadline_days = 30.0;

  choose(advice);

  EXPECT_TRUE(advice.holds);
  EXPECT_EQ(advice.chosen, 2u);
  EXPECT_EQ(advice.second, 3u);
}

TEST(Advice, TakesTheFewestDaysWithinTheBudget) {
  Advice advice = advice_among({{100.0, 1}, {52.0, 2}, {28.0, 4}, {16.0, 8}});
  advice.wish.node_hours = 24.0 * 110.0;

  choose(advice);

  EXPECT_TRUE(advice.holds);
  EXPECT_EQ(advice.chosen, 1u);
}

TEST(Advice, HurriesForATenthMoreNodeHoursWhereNothingIsAsked) {
  Advice advice = advice_among({{100.0, 1}, {54.0, 2}, {28.0, 4}});

  choose(advice);

  EXPECT_EQ(advice.chosen, 1u);
}

TEST(Advice, NamesWhatComesNearestWhereNothingHolds) {
  Advice advice = advice_among({{100.0, 1}, {52.0, 2}, {28.0, 4}});
  advice.wish.deadline_days = 10.0;
  advice.wish.node_hours = 24.0 * 50.0;

  choose(advice);

  EXPECT_FALSE(advice.holds);
  EXPECT_EQ(advice.chosen, 2u);  // 2.8 times the deadline; the others 5.2 and 10 times
}

Question question_on(const std::string& platform, std::int64_t devices) {
  Question question;
  question.platform = platform;
  question.model = model_with("gpt-5b", {});
  question.devices = devices;
  question.global_batch = 256;
  return question;
}

AdviceWish wish_on(const std::string& platform) {
  AdviceWish wish;
  wish.questions = {question_on(platform, 32)};
  wish.tokens = 1e9;
  return wish;
}

TEST(Advice, CountsFailuresAndEnergyWhereThePlatformKnowsThem) {
  const Advice advice = advise(wish_on("frontier"), [](const std::string&, double) {});

  const AdviceOption& option = advice.options.front();
  ASSERT_TRUE(option.failures && option.energy_MWh);
  EXPECT_GT(option.days(), option.step_days);
  EXPECT_NEAR(*option.energy_MWh, option.node_hours() * 2472.0 / 1e6, 1e-9);
  // 4 nodes; the checkpoint has 12 bytes a parameter.
  EXPECT_NEAR(option.failures->cost.between_failures.value, 86'400.0 / (0.00043 * 4.0), 1.0);
  EXPECT_NEAR(option.failures->cost.write.value, 12.0 * 5.1e9 / (4 * 4 * 23.8e9), 0.01);
}

TEST(Advice, SaysWhatThePlatformDoesNotKnow) {
  const Advice advice = advise(wish_on("crossbar"), [](const std::string&, double) {});

  const std::string text = advice_text(advice);

  EXPECT_THAT(text, testing::HasSubstr("lacks node_failures_per_day"));
  EXPECT_THAT(text, testing::HasSubstr("does not say what a node draws"));
  EXPECT_EQ(advice.options.front().days(), advice.options.front().step_days);
}

TEST(Advice, FitsAScreen) {
  AdviceWish wish = wish_on("frontier");
  wish.deadline_days = 1.0;
  wish.node_hours = 1e6;

  const std::string text = advice_text(advise(wish, [](const std::string&, double) {}));

  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_LE(count, 40);
}

TEST(Amounts, AreNumbersWithAUnit) {
  EXPECT_EQ(amount_in("--tokens", "1.5T"), 1.5e12);
  EXPECT_EQ(amount_in("--tokens", "300B"), 300e9);
  EXPECT_EQ(amount_in("--node-hours", "500k"), 500e3);
  EXPECT_EQ(days_in("--deadline", "2w"), 14.0);
  EXPECT_EQ(days_in("--deadline", "36h"), 1.5);
}

TEST(Amounts, RefuseWhatIsNone) {
  for (const char* word : {"", "T", "-1T", "1X", "inf", "nan", "1e999", "0"}) {
    EXPECT_THAT(refusal<std::runtime_error>([&] { amount_in("--tokens", word); }),
                testing::HasSubstr("is no number such as 300B"));
  }
  for (const char* word : {"30", "d", "-3d", "5y"}) {
    EXPECT_THAT(refusal<std::runtime_error>([&] { days_in("--deadline", word); }),
                testing::HasSubstr("is no time such as 30d"));
  }
  for (const auto& [word, wrong] :
       {std::pair{"", "''"}, std::pair{"a", "'a'"}, std::pair{"1..", "''"},
        std::pair{"0..4", "'0'"}, std::pair{"1,x", "'x'"}, std::pair{"1.5", "'1.5'"},
        std::pair{"1,2..4..8", "'4..8'"}}) {
    EXPECT_EQ(
        refusal<std::runtime_error>([&] { counts_in("--devices", word); }),
        fmt::format("--devices '{}': {} is no whole number from 1 on; numbers and ranges with "
                    "commas between them are right, such as 512,1024..8192",
                    word, wrong));
  }
  EXPECT_THAT(refusal<std::runtime_error>([&] { counts_in("--devices", "1,8..4"); }),
              testing::HasSubstr("'8..4' ends before it begins"));
}

TEST(Amounts, DoubleThroughARange) {
  EXPECT_EQ(counts_in("--devices", "512..4096"),
            (std::vector<std::int64_t>{512, 1024, 2048, 4096}));
  EXPECT_EQ(counts_in("--devices", "1..5"), (std::vector<std::int64_t>{1, 2, 4, 5}));
  EXPECT_EQ(counts_in("--devices", "3..11"), (std::vector<std::int64_t>{3, 6, 11}));
  EXPECT_EQ(counts_in("--devices", "512..1500"), (std::vector<std::int64_t>{512, 1024, 1500}));
  EXPECT_EQ(counts_in("--devices", "768,512,768"), (std::vector<std::int64_t>{512, 768}));
  EXPECT_EQ(counts_in("--devices", "3000,1024..4096,512,2048..3000"),
            (std::vector<std::int64_t>{512, 1024, 2048, 3000, 4096}));
}

}  // namespace
}  // namespace fourfold::tests
