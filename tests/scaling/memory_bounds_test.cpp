// The bound that a validation set holds its peaks of memory to is one on deviations without their
// sign: what is too high makes up for nothing that is too low. Of a pipeline the peak is of the
// stage that was measured; certain is wrong only where it is both.
#include <gtest/gtest.h>

#include "platforms/device_memory.hpp"
#include "scaling/validation/memory_deviations.hpp"

namespace fourfold::tests {
namespace {

// Peaks of 1 GB that are projected so many times as large.
SetResult peaks(const std::vector<double>& ratios) {
  SetResult result;
  result.set.name = "peaks";
  result.set.memory_bound = 0.05;
  for (const double ratio : ratios) {
    CaseResult& one = result.cases.emplace_back();
    one.one.id = "case" + std::to_string(result.cases.size());
    one.one.question.platform = "frontier";
    one.one.memory.emplace();
    one.one.memory->peak = {1e9};
    one.projection.emplace();
    one.projection->stage_memory.resize(1);
    one.projection->stage_memory[0].peak = {1e9 * ratio};
  }
  return result;
}

TEST(MemoryBounds, AreOnDeviationsWithoutTheirSign) {
  EXPECT_EQ(memory_worse_than_bound(peaks({1.04, 0.96})), "");
  EXPECT_EQ(memory_worse_than_bound(peaks({1.2, 0.8})),
            "peaks: peaks of memory deviate by 20.00 % in the mean, above the bound of 5 %");
  EXPECT_EQ(memory_worse_than_bound(peaks({0.9, 0.9})),
            "peaks: peaks of memory deviate by 10.00 % in the mean, above the bound of 5 %");
}

TEST(MemoryBounds, NeedAsManyPeaksAsTheSetSays) {
  SetResult result = peaks({1.0, 1.0});
  result.set.least_cases = 3;

  EXPECT_EQ(memory_worse_than_bound(result), "peaks: 2 peaks of memory ran, but at least 3 must");
}

TEST(MemoryDeviations, AreOfTheStageThatWasMeasured) {
  const std::vector<std::pair<PeakOf, double>> stages{
      {PeakOf::first, 3e9}, {PeakOf::last, 1e9}, {PeakOf::fullest, 4e9}};
  for (const auto& [of, bytes] : stages) {
    CaseResult one = peaks({3.0}).cases.front();
    one.projection->stage_memory.resize(3);
    one.projection->stage_memory[1].peak = {4e9};
    one.projection->stage_memory[2].peak = {1e9};
    one.one.memory->of = of;

    EXPECT_EQ(projected_memory(one).value, bytes) << name(of);
    EXPECT_DOUBLE_EQ(memory_deviation(one), bytes / 1e9 - 1.0) << name(of);
  }
}

// Over needs from what surely fits to what surely does not, of runs that did and did not fit.
TEST(MemoryStatistics, CountWhatWasCertainAndWrong) {
  std::size_t certain = 0, wrong = 0, both = 0;
  SetResult result = peaks(std::vector<double>(42, 1.0));
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    CaseResult& one = result.cases[i];
    one.projection->memory = {4e9 * static_cast<double>(i / 2)};
    one.one.memory->outcome = i % 2 == 0 ? MemoryOutcome::ran : MemoryOutcome::out_of_memory;
    const double chance = chance_to_fit(one);
    const bool sure = chance >= fits_from || chance <= fits_not_below;
    certain += sure ? 1 : 0;
    wrong += outcome_is_right(one) ? 0 : 1;
    both += sure && !outcome_is_right(one) ? 1 : 0;
  }

  const MemoryStatistics found = memory_statistics(result, "");

  EXPECT_EQ(found.outcomes, 42U);
  EXPECT_EQ(found.right, 42U - wrong);
  EXPECT_EQ(found.certain_and_wrong, both);
  EXPECT_LT(both, certain);
  EXPECT_LE(both, wrong);
  EXPECT_GT(both, 0U);
}

}  // namespace
}  // namespace fourfold::tests
