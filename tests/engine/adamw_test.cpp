// Clipping and the optimizer's step against numbers worked out by hand.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/reference/adamw_step.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::reference {
namespace {

// One weight w = 2, gradient 0.5 clipped by 0.4 to g = 0.2, beta1 = 0.9, beta2 = 0.99, decay 0.1.
// After the first step m^ = g and v^ = g^2: w falls by rate * (1 + 0.1 * 2). A second step with
// g = 0, no decay and epsilon 1e-3: m^ = 0.9 * 0.02 / 0.19, v^ = 0.99 * 0.0004 / 0.0199.
TEST(AdamW, StepsInTheDirectionOfUnbiasedMoments) {
  double master = 2.0, m = 0.0, v = 0.0, gradient = 0.5;
  AdamW numbers;
  numbers.learning_rate = 0.01;
  numbers.beta1 = 0.9;
  numbers.beta2 = 0.99;
  numbers.epsilon = 0.0;
  const auto step = [&](std::int64_t number, double decay, double clipped) {
    adamw({numbers, number, decay}, View<const double>{&gradient, 1, 1}, clipped,
          Shard<double>{{&master, 1, 1}, {&m, 1, 1}, {&v, 1, 1}});
  };

  step(1, 0.1, 0.4);
  EXPECT_NEAR(m, 0.02, 1e-15);
  EXPECT_NEAR(v, 0.0004, 1e-15);
  EXPECT_NEAR(master, 2.0 - 0.01 * 1.2, 1e-15);

  numbers.epsilon = 1e-3;
  gradient = 0.0;
  step(2, 0.0, 1.0);
  const double direction = (0.018 / 0.19) / (std::sqrt(0.000396 / 0.0199) + 1e-3);
  EXPECT_NEAR(master, 2.0 - 0.01 * 1.2 - 0.01 * direction, 1e-15);
}

TEST(AdamW, ClipsOnlyAboveTheNorm) {
  EXPECT_EQ(clip_factor(0.25, 1.0), 1.0);
  EXPECT_NEAR(clip_factor(16.0, 1.0), 0.25, 1e-15);
}

TEST(AdamW, DecaysMatricesAndEmbeddingsOnly) {
  const Program program = record_step({"small", 1, 12, 4, 5, 11}, {});
  std::map<std::string, bool> decayed;
  for (const Value& value : program.values) {
    if (value.role == Role::parameter) decayed[value.label.full()] = decays(value.weight);
  }
  EXPECT_TRUE(decayed.at("block0.up.weight"));
  EXPECT_TRUE(decayed.at("block0.down.weight"));
  EXPECT_TRUE(decayed.at("table"));
  EXPECT_TRUE(decayed.at("positions"));
  EXPECT_FALSE(decayed.at("block0.up.bias"));
  EXPECT_FALSE(decayed.at("block0.norm1"));
  EXPECT_FALSE(decayed.at("final_norm"));
}

}  // namespace
}  // namespace fourfold::reference
