// Error bars, ties and runs left out over drawn runs, beside what follows from their definitions,
// and their words in golden texts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scaling/bars/error_bar.hpp"
#include "scaling/bars/error_bar_json.hpp"
#include "scaling/validation/leave_out.hpp"
#include "tests/golden.hpp"
#include "tests/scaling/drawn_residuals.hpp"

namespace fourfold::tests {
namespace {

double middle(const ErrorBar& bar) {
  return (std::log1p(bar.low) + std::log1p(bar.high)) / 2.0;
}

double half_width(const ErrorBar& bar) {
  return (std::log1p(bar.high) - std::log1p(bar.low)) / 2.0;
}

TEST(ErrorBars, WeighSourcesByHowNearTheirRunsAre) {
  for (int sources = 1; sources <= 30; ++sources) {
    std::vector<Residual> all = drawn_residuals(sources);
    for (const char* processor : {"A", "B"}) {
      const Likeness like{processor, Parallelism::sharded};
      const std::optional<ErrorBar> bar = error_bar(like, all);
      ASSERT_EQ(bar.has_value(), sources >= 4);
      if (!bar) continue;
      EXPECT_EQ(bar->runs, std::ssize(all));
      EXPECT_EQ(bar->sources, sources);
      EXPECT_GE(bar->high - bar->low, 0.05 * (1.0 + bar->low));
      // Every run twice is nothing new, but for where the median lies between two; all of them
      // slower move the bar, less than by as much.
      std::vector<Residual> twice = all;
      twice.insert(twice.end(), all.begin(), all.end());
      EXPECT_NEAR(error_bar(like, twice)->high, bar->high, 0.03);
      std::vector<Residual> slower = all;
      for (Residual& one : slower) one.ratio *= 1.5;
      const double moved = middle(*error_bar(like, slower)) - middle(*bar);
      EXPECT_GT(moved, 0.0);
      EXPECT_LT(moved, std::log(1.5));
      // Runs that are all as far away as each other count alike, however far that is; without any
      // on the processor they reach 2.25 times as far.
      std::vector<Residual> near = all, far = all, none = all;
      for (Residual& one : near) one.like = like;
      for (Residual& one : far) one.like = {processor, Parallelism::whole, "else", "other", 64};
      for (Residual& one : none) one.like = {"C", Parallelism::whole, "else", "other", 64};
      EXPECT_NEAR(error_bar(like, near)->high, error_bar(like, far)->high, 1e-9);
      EXPECT_NEAR(2.25 * half_width(*error_bar(like, near)), half_width(*error_bar(like, none)),
                  1e-9);
    }
  }
}

TEST(ErrorBars, AreWidenedByWhatLiesOnEitherSideAlone) {
  ErrorBar narrow;
  const double reach = 0.1;
  narrow.low = std::expm1(-reach);
  narrow.high = std::expm1(reach);
  const double part = 1.2816 * 1.2816 / 3.0;
  const auto widened = [&](double half, double twice) {
    ErrorBar bar = narrow;
    Sensitivity sensitivity;
    sensitivity.estimated = {10.0};
    sensitivity.effects.resize(1);
    sensitivity.effects[0].key = "a key";
    sensitivity.effects[0].half = Seconds{10.0 * half};
    sensitivity.effects[0].twice = Seconds{10.0 * twice};
    widen(bar, sensitivity);
    return bar;
  };
  const auto expected = [&](double effect) {
    return std::sqrt(reach * reach + part * std::pow(std::log(effect), 2));
  };
  const ErrorBar slower = widened(1.3, 1.1);
  EXPECT_NEAR(std::log1p(slower.high), expected(1.3), 1e-12);
  EXPECT_NEAR(std::log1p(slower.low), -reach, 1e-12);
  const ErrorBar faster = widened(0.9, 0.8);
  EXPECT_NEAR(std::log1p(faster.high), reach, 1e-12);
  EXPECT_NEAR(std::log1p(faster.low), -expected(0.8), 1e-12);
  const ErrorBar both = widened(1.2, 0.7);
  EXPECT_NEAR(std::log1p(both.high), expected(1.2), 1e-12);
  EXPECT_NEAR(std::log1p(both.low), -expected(0.7), 1e-12);
  EXPECT_EQ(both.widened_by, std::vector<std::string>{"a key"});
}

TEST(ComparisonBars, AreOfPairsOfConfigurationsThatOneChoosesBetween) {
  for (int sources = 2; sources <= 12; ++sources) {
    const std::vector<Residual> all = drawn_residuals(sources);
    std::map<std::string, std::vector<double>> changes;
    std::map<std::pair<std::string, std::string>, std::vector<double>> logs;
    for (const Residual& one : all) {
      logs[{one.choice, one.configuration}].push_back(std::log(one.ratio));
    }
    const auto mean = [](const std::vector<double>& values) {
      double sum = 0.0;
      for (double value : values) sum += value;
      return sum / static_cast<double>(values.size());
    };
    for (auto a = logs.begin(); a != logs.end(); ++a) {
      for (auto b = std::next(a); b != logs.end(); ++b) {
        if (a->first.first != b->first.first) continue;
        const std::string source = a->first.first.substr(0, a->first.first.size() - 2);
        changes[source].push_back(std::abs(mean(a->second) - mean(b->second)));
      }
    }
    std::int64_t pairs = 0;
    for (const auto& [source, values] : changes) pairs += std::ssize(values);
    const ComparisonBar bar = comparison_bar(all);
    EXPECT_EQ(bar.pairs, pairs);
    if (pairs == 0) {
      EXPECT_EQ(bar.tie, 0.0);
      continue;
    }
    const auto weight = [&](double reach) {
      double sum = 0.0;
      for (const auto& [source, values] : changes) {
        for (double value : values) {
          if (value <= reach) sum += 1.0 / static_cast<double>(values.size() * changes.size());
        }
      }
      return sum;
    };
    EXPECT_GE(weight(std::log1p(bar.tie) + 1e-12), 0.8 - 1e-9);
    EXPECT_LT(weight(std::log1p(bar.tie) - 1e-12), 0.8 - 1e-9);
  }
}

TEST(LeavingOut, IsTheGoldenTable) {
  std::string text;
  for (const int sources : {3, 4, 6, 9, 14}) {
    const LeaveOut result = leave_out(drawn_residuals(sources));
    text += leave_out_text(result) + wrong_with(result) + "\n";
  }
  LeaveOut made_up;
  made_up.sources.resize(1);
  made_up.sources[0].covered = 0.8;
  for (const double covered : {0.649, 0.65, 0.95, 0.951}) {
    for (const double score : {0.99, 1.0}) {
      made_up.covered = covered;
      made_up.score = score;
      made_up.fixed_score = 1.0;
      text += fmt::format("{} {}: {}\n", covered, score, wrong_with(made_up));
    }
  }
  expect_golden("left_out.txt", text);
}

TEST(ErrorBars, SayTheGoldenSentences) {
  std::string text;
  ErrorBar bar{-0.0625, 0.46875, "frontier, whole", 12, 5, -0.125, 0.75, {}, 0.034, 41};
  for (const double seconds : {0.0123456, 1.0, 123.456, 4567.8}) {
    text += error_bar_text(bar, {seconds});
  }
  bar.widened_by = {"the first", "the second"};
  text += error_bar_text(bar, {10.0});
  bar.widened_by = {"the only"};
  bar.runs = bar.sources = 1;
  text += error_bar_text(bar, {10.0});
  text += percent_text(bar) + "\n" + tie_text(bar);
  bar.pairs = 1;
  text += tie_text(bar);
  bar.pairs = 0;
  text += "without pairs: " + tie_text(bar) + "\n" + json_of(bar, {20.0}).dump(1) + "\n";
  expect_golden("error_bars.txt", text);
}

}  // namespace
}  // namespace fourfold::tests
