// Order statistics and the rank test of bench/measure/sample.hpp.
#include "bench/measure/sample.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace fourfold::tests {
namespace {

Sample normal(double mean, double spread, int n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> draw(mean, spread);
  Sample sample;
  for (int i = 0; i < n; ++i) sample.push_back(draw(random));
  return sample;
}

TEST(Quantiles, OfNothingAreRefused) {
  EXPECT_THROW(median({}), std::invalid_argument);
}

// Values of scipy.stats.mannwhitneyu(..., alternative='less', method='asymptotic').
TEST(RankTest, AgreesWithValuesWorkedOutElsewhere) {
  EXPECT_NEAR(chance_of_lower({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 0.006092890177672406, 1e-12);
  EXPECT_NEAR(chance_of_lower({1, 2, 2, 3}, {2, 2, 4, 5}), 0.14085895791286496, 1e-12);
}

TEST(RankTest, SeesAShiftAndNoShiftAndNeverTheOtherWay) {
  const Sample before = normal(100, 3, 60, 1);

  EXPECT_LT(chance_of_lower(normal(91, 3, 60, 2), before), 1e-6);
  EXPECT_GT(chance_of_lower(normal(109, 3, 60, 3), before), 0.999);
  int alarms = 0;
  for (unsigned seed = 10; seed < 410; ++seed) {
    if (chance_of_lower(normal(100, 3, 60, seed), normal(100, 3, 60, seed + 1000)) < 0.05) ++alarms;
  }
  EXPECT_LE(alarms, 35);  // 20 expected; beyond 35 once in a thousand
  EXPECT_GE(alarms, 7);
}

TEST(RankTest, SaysNothingOfEqualOrMissingValues) {
  EXPECT_EQ(chance_of_lower({1, 1, 1}, {1, 1}), 1.0);
  EXPECT_EQ(chance_of_lower({}, {1, 2}), 1.0);
}

}  // namespace
}  // namespace fourfold::tests
