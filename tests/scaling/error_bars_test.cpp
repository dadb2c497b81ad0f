// Error bars, ties and runs left out over drawn runs, beside what follows from their definitions,
// and their words in golden texts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "scaling/bars/error_bar.hpp"
#include "scaling/bars/error_bar_json.hpp"
#include "scaling/validation/leave_out.hpp"
#include "tests/golden.hpp"
#include "tests/scaling/drawn_residuals.hpp"

namespace fourfold::tests {
namespace {

// The weight of runs within some distance of a middle, each source weighing the same.
double weight_within(const std::vector<Residual>& runs, double middle, double reach) {
  std::map<std::string, double> of_source;
  for (const Residual& one : runs) of_source[one.source] += 1.0;
  double weight = 0.0;
  for (const Residual& one : runs) {
    if (std::abs(std::log(one.ratio) - middle) <= reach + 1e-12) {
      weight += 1.0 / of_source.at(one.source) / static_cast<double>(of_source.size());
    }
  }
  return weight;
}

TEST(ErrorBars, HoldTheirShareOfTheRunsTheyAreMadeOf) {
  std::int64_t tested = 0;
  for (int sources = 1; sources <= 30; ++sources) {
    const std::vector<Residual> all = drawn_residuals(sources);
    for (const char* processor : {"A", "B"}) {
      for (const Parallelism parallelism :
           {Parallelism::pipelined, Parallelism::sharded, Parallelism::whole}) {
        const Likeness like{processor, parallelism};
        // The runs most like it that come from four sources at least.
        std::vector<Residual> near;
        std::string words;
        for (int loose = 0; loose < 4 && near.empty(); ++loose) {
          const bool same_processor = loose < 2, same_kind = loose % 2 == 0;
          std::set<std::string> of;
          std::vector<Residual> runs;
          for (const Residual& one : all) {
            if (same_processor && one.like.processor != processor) continue;
            if (same_kind && loose != 1 && loose != 3 && one.like.parallelism != parallelism) {
              continue;
            }
            runs.push_back(one);
            of.insert(one.source);
          }
          if (of.size() < 4) continue;
          near = runs;
          words = loose == 0   ? fmt::format("on {} and {}", processor, name(parallelism))
                  : loose == 1 ? fmt::format("on {}", processor)
                  : loose == 2 ? std::string(name(parallelism))
                               : "of any kind";
        }
        const std::optional<ErrorBar> bar = error_bar(like, all);
        ASSERT_EQ(bar.has_value(), !near.empty());
        if (!bar) continue;
        ++tested;
        EXPECT_EQ(bar->like, words);
        EXPECT_EQ(bar->runs, std::ssize(near));
        std::set<std::string> of;
        double least = 10.0, most = 0.0;
        for (const Residual& one : near) {
          of.insert(one.source);
          least = std::min(least, one.ratio);
          most = std::max(most, one.ratio);
        }
        EXPECT_EQ(bar->sources, std::ssize(of));
        EXPECT_NEAR(bar->runs_least, least - 1.0, 1e-12);
        EXPECT_NEAR(bar->runs_most, most - 1.0, 1e-12);
        const double low = std::log1p(bar->low), high = std::log1p(bar->high);
        const double middle = 0.5 * (low + high), reach = 0.5 * (high - low);
        const double share = std::min(1.0, 0.8 * (1.0 + 1.0 / static_cast<double>(of.size())));
        EXPECT_GE(weight_within(near, middle, reach), share - 1e-9);
        EXPECT_LT(weight_within(near, middle, reach - 1e-9), share);
        // The middle has at most half of the weight strictly on either side.
        double below = 0.0, above = 0.0;
        std::map<std::string, double> rows;
        for (const Residual& one : near) rows[one.source] += 1.0;
        for (const Residual& one : near) {
          const double weight = 1.0 / rows.at(one.source) / static_cast<double>(of.size());
          if (std::log(one.ratio) < middle - 1e-12) below += weight;
          if (std::log(one.ratio) > middle + 1e-12) above += weight;
        }
        EXPECT_LT(below, 0.75);
        EXPECT_LT(above, 0.75);
      }
    }
  }
  EXPECT_GT(tested, 100);
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
  ErrorBar bar{-0.0625, 0.46875, "on A and whole", 12, 5, -0.125, 0.75, {}, 0.034, 41};
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
