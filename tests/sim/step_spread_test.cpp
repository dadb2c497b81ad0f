// How steps vary: each tail that a machine states moves its own percentile and nothing else.
#include "sim/estimate/step_spread.hpp"

#include <gtest/gtest.h>

#include "platforms/operation.hpp"
#include "tests/drawn_points.hpp"

namespace fourfold::tests {
namespace {

StepSpread with_tails(const DrawnPoint& drawn, double p90, double p99) {
  Platform platform = drawn.platform;
  std::erase_if(platform.facts, is_of_operation);
  for (const auto& [key, tail] : {std::pair{step_p90_key, p90}, std::pair{step_p99_key, p99}}) {
    platform.facts.push_back({std::string(operation_section) + "." + key, tail, "me", false});
  }
  return step_spread(drawn.point, platform);
}

TEST(StepSpread, OfEachPercentileHasItsOwnTail) {
  for (std::int64_t number = 0; number < 20; ++number) {
    const DrawnPoint drawn = drawn_point(number, 8);
    const StepSpread plain = with_tails(drawn, 1.1, 1.3);
    EXPECT_GE(plain.p90, 1.1);
    EXPECT_GE(plain.p99, 1.3);

    const StepSpread more_p90 = with_tails(drawn, 1.2, 1.3);
    EXPECT_GT(more_p90.p90, plain.p90);
    EXPECT_EQ(more_p90.p99, plain.p99);

    const StepSpread more_p99 = with_tails(drawn, 1.1, 1.6);
    EXPECT_EQ(more_p99.p90, plain.p90);
    EXPECT_GT(more_p99.p99, plain.p99);
  }
}

}  // namespace
}  // namespace fourfold::tests
