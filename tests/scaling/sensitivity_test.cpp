// What half and double of unconfirmed numbers would give.
#include "scaling/find/sensitivity.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/models/model_file.hpp"
#include "sim/estimate/estimate.hpp"

namespace fourfold {
namespace {

// On a machine whose attention is a tenth as fast, half and double of that are asked for.
TEST(Sensitivity, HalfAndDoubleAreOfTheScaledNumber) {
  const std::string key = "processor.attention_forward_Tflops";
  Point point;
  point.platform = "alps";
  point.model = read_model("gpt2-mini");
  point.model.sequence = 4096;
  point.grid = {1, 1, 1, 4};
  point.global_batch = 16;
  point.scales[key] = 0.1;
  const auto seconds_with = [&](double factor) {
    return estimate(point, read_platform("alps", {{key, factor}})).outcome.total.value;
  };

  const Sensitivity result = sensitivity(point);

  const auto effect = std::ranges::find(result.effects, key, &Effect::key);
  ASSERT_NE(effect, result.effects.end());
  EXPECT_DOUBLE_EQ(effect->half.value().value, seconds_with(0.05));
  EXPECT_DOUBLE_EQ(effect->twice.value().value, seconds_with(0.2));
}

}  // namespace
}  // namespace fourfold
