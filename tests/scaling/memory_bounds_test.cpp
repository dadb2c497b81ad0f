// The bound that a validation set holds its peaks of memory to is one on deviations without their
// sign: what is too high makes up for nothing that is too low.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace fourfold::tests
