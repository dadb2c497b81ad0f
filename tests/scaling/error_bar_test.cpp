// Error bars: of which runs they are made, how wide they are, and that they hold what is left out.
#include "scaling/bars/error_bar.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/bars/error_bar_json.hpp"
#include "scaling/validation/leave_out.hpp"
#include "tests/scaling/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Likeness pipelined_a100{"A100", Parallelism::pipelined};

Residual residual(const std::string& source, double ratio) {
  return {source, "id", pipelined_a100, ratio, "id", "id"};
}

// A source a letter, with one run each.
std::vector<Residual> one_of_each(const std::vector<double>& ratios) {
  std::vector<Residual> residuals;
  for (double ratio : ratios) {
    residuals.push_back(residual(std::string(1, static_cast<char>('a' + residuals.size())), ratio));
  }
  return residuals;
}

TEST(ErrorBars, ReachFromTheMedianAsFarAsTheFarthestOfFourSources) {
  // In logarithms the middle of 1, 1.1, 1.2 and 1.44 is that of 1.1 and 1.2.
  const std::optional<ErrorBar> bar = error_bar(pipelined_a100, one_of_each({1.44, 1.0, 1.2, 1.1}));

  const double middle = std::sqrt(1.1 * 1.2);
  ASSERT_TRUE(bar.has_value());
  EXPECT_NEAR(bar->high, 0.44, 1e-12);
  EXPECT_NEAR(bar->low, middle * middle / 1.44 - 1.0, 1e-12);
  EXPECT_NEAR(bar->runs_least, 0.0, 1e-12);
  EXPECT_NEAR(bar->runs_most, 0.44, 1e-12);
  EXPECT_EQ(bar->like, "on A100 and pipelined");
}

TEST(ErrorBars, NeedFourSources) {
  EXPECT_FALSE(error_bar(pipelined_a100, one_of_each({1.0, 1.1, 1.2})).has_value());
}

TEST(ErrorBars, WeighSourcesAndNotRuns) {
  // Ten sources, one of which has a hundred runs far off: its weight is still a tenth, and of ten
  // sources 0.8 (1 + 1/10) = 88 % are to be held.
  std::vector<Residual> residuals = one_of_each({1, 1, 1, 1, 1, 1, 1, 1, 1, 2});
  const double before = error_bar(pipelined_a100, residuals)->high;
  for (int i = 0; i < 99; ++i) residuals.push_back(residual("j", 2));

  EXPECT_NEAR(before, 0.0, 1e-12);
  EXPECT_NEAR(error_bar(pipelined_a100, residuals)->high, 0.0, 1e-12);
}

TEST(ErrorBars, AreOfRunsAsLikeAsFourSourcesAllow) {
  std::vector<Residual> residuals = one_of_each({1, 1, 1, 1, 2, 2, 2, 2});
  for (std::size_t i = 4; i < residuals.size(); ++i) residuals[i].like.processor = "MI250X";
  residuals[0].like.parallelism = Parallelism::whole;

  const auto on_mi250x = error_bar({"MI250X", Parallelism::whole}, residuals);
  const auto on_a100 = error_bar(pipelined_a100, residuals);
  const auto elsewhere = error_bar({"H100", Parallelism::pipelined}, residuals);
  const auto of_any = error_bar({"H100", Parallelism::sharded}, residuals);

  EXPECT_EQ(on_mi250x->like, "on MI250X");
  EXPECT_NEAR(on_mi250x->low, 1.0, 1e-12);
  EXPECT_EQ(on_a100->like, "on A100");
  EXPECT_EQ(elsewhere->like, "pipelined");
  EXPECT_EQ(elsewhere->runs, 7);
  EXPECT_EQ(of_any->like, "of any kind");
  EXPECT_EQ(of_any->sources, 8);
}

TEST(ErrorBars, AreWidenedInSquaresBySideByUnconfirmedNumbers) {
  ErrorBar bar;
  bar.low = std::expm1(-0.1);
  bar.high = std::expm1(0.3);
  Sensitivity sensitivity;
  sensitivity.estimated = {10.0};
  sensitivity.effects = {{"a", 1.0, Seconds{10.0 * std::exp(0.3)}, Seconds{10.0 * std::exp(-0.1)}},
                         {"b", 1.0, Seconds{10.0 * std::exp(0.4)}, std::nullopt}};

  widen(bar, sensitivity);

  constexpr double part = 1.2816 * 1.2816 / 3.0;
  EXPECT_NEAR(std::log1p(bar.high), 0.1 + std::sqrt(0.04 + part * 0.25), 1e-12);
  EXPECT_NEAR(std::log1p(bar.low), 0.1 - std::sqrt(0.04 + part * 0.01), 1e-12);
  EXPECT_THAT(bar.widened_by, ElementsAre("a", "b"));
}

TEST(Likeness, IsOfShardedRunsWhereWeightsAreCutAndOfPipelinedOnesWhereStagesAre) {
  const Platform platform = read_platform("selene");
  const auto parallelism = [&](const ProcessGrid& grid, std::int64_t zero) {
    StepOptions options;
    options.zero = zero;
    return likeness(grid, options, platform).parallelism;
  };

  EXPECT_EQ(parallelism({8, 1, 1, 4}, 0), Parallelism::whole);
  EXPECT_EQ(parallelism({8, 1, 1, 4}, 2), Parallelism::whole);
  EXPECT_EQ(parallelism({8, 1, 1, 4}, 3), Parallelism::sharded);
  EXPECT_EQ(parallelism({8, 1, 4, 1}, 0), Parallelism::sharded);
  EXPECT_EQ(parallelism({8, 1, 4, 1, 2}, 3), Parallelism::pipelined);
}

TEST(ErrorBars, OfManyMicroBatchesAreWidenedAsThoseOfFew) {
  Point point;
  point.platform = "selene";
  point.model = {"of 16 layers", 16, 4096, 32, 2048, 51200};
  point.grid = ProcessGrid(8, 1, 1, 2, 4);
  point.global_batch = 512;
  point.options.micro_batches = 256;
  const Platform platform = read_platform(point.platform);

  const ErrorBar bar = error_bar(point).value();
  ErrorBar whole =
      error_bar(likeness(point.grid, point.options, platform), kept_residuals()).value();
  widen(whole, sensitivity(point));

  EXPECT_FALSE(whole.widened_by.empty());
  EXPECT_NEAR(bar.low, whole.low, 0.01);
  EXPECT_NEAR(bar.high, whole.high, 0.02);
}

TEST(ErrorBars, OfComparisonsAreOfPairsWithinAChoice) {
  std::vector<Residual> residuals = one_of_each({1.0, 1.1, 1.1, 1.0});
  for (Residual& one : residuals) one.source = "a";
  residuals[0].configuration = "one";
  residuals[1].configuration = residuals[2].configuration = "two";  // measured twice
  residuals[3].choice = "another";

  const ComparisonBar bar = comparison_bar(residuals);

  EXPECT_EQ(bar.pairs, 1);
  EXPECT_NEAR(bar.tie, 0.1, 1e-12);
}

TEST(ErrorBars, SurviveJson) {
  const ErrorBar bar{-0.1, 1.0 / 3.0, "on A100", 7, 5, -0.2, 0.4, {"x", "y"}, 0.03, 12};

  EXPECT_EQ(read_error_bar(json_of(bar, Seconds{9.0})), bar);
  EXPECT_THROW(read_error_bar(nlohmann::json::object()), std::runtime_error);
}

TEST(Residuals, SurviveTheirFile) {
  const TemporaryFolder folder;
  const std::vector<Residual> residuals{
      {"A \"b\", c", "one", {"A100", Parallelism::sharded}, 1.25, "one", "one"},
      {"d", "two", {"MI250X", Parallelism::whole}, 0.5, "one", "two"}};
  write_content(folder.file("kept.csv"), residuals_csv(residuals));

  const std::vector<Residual> again = read_residuals(folder.file("kept.csv"));

  EXPECT_EQ(residuals_csv(again), residuals_csv(residuals));
  EXPECT_EQ(again[0].source, "A \"b\", c");
  EXPECT_EQ(again[1].like, residuals[1].like);
}

TEST(LeavingOut, HoldsASourceAgainstBarsOfTheOthers) {
  // Four sources between 1 and 1.1, and one at 2 that their bars do not hold: it lies 0.9 beside.
  const LeaveOut result = leave_out(one_of_each({1.0, 1.1, 1.0, 1.1, 2.0}));

  ASSERT_EQ(result.sources.size(), 5u);
  const SourceLeftOut& far = result.sources.back();
  EXPECT_EQ(far.covered, 0.0);
  EXPECT_EQ(far.from_sources, 4);
  EXPECT_NEAR(far.low, 0.0, 1e-12);
  EXPECT_NEAR(far.high, 0.1, 1e-12);
  EXPECT_NEAR(far.score, 0.1 + 10.0 * 0.9, 1e-9);
  EXPECT_NEAR(far.fixed_score, 0.5 + 10.0 * 0.75, 1e-9);
  EXPECT_EQ(result.sources.front().covered, 1.0);
  EXPECT_NEAR(result.covered, 0.8, 1e-12);
}

TEST(LeavingOut, SaysWhatIsWrongWithBars) {
  LeaveOut result;
  EXPECT_THAT(wrong_with(result), IsEmpty());

  result.sources.resize(5);
  result.covered = 0.6;
  EXPECT_THAT(wrong_with(result), HasSubstr("cover 60.0 %"));

  result.covered = 0.8;
  result.score = 1.2;
  result.fixed_score = 1.1;
  EXPECT_THAT(wrong_with(result), HasSubstr("lower would be better"));

  result.score = 1.0;
  EXPECT_THAT(wrong_with(result), IsEmpty());
}

// What answers are given with, for as long as nobody writes the residuals anew.
TEST(LeavingOut, FindsTheShippedBarsRight) {
  EXPECT_THAT(wrong_with(leave_out(kept_residuals())), IsEmpty());
  EXPECT_GE(leave_out(kept_residuals()).sources.size(), 5u);
}

}  // namespace
}  // namespace fourfold::tests
