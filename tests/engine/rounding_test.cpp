// bf16 as the program records it: weights and activations rounded, master weights and sums not; and
// which choices change no bit.
#include <gtest/gtest.h>

#include <limits>

#include "engine/bf16.hpp"
#include "tests/engine/tiny.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

// Neighbours of 1 lie 2^-7 apart: 1 + 2^-8 is half way, as is 1 + 3 * 2^-8.
TEST(Bf16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(rounded_to_bf16(1.0F), 1.0F);
  EXPECT_EQ(rounded_to_bf16(1.00390625F), 1.0F);
  EXPECT_EQ(rounded_to_bf16(1.01171875F), 1.015625F);
  EXPECT_EQ(rounded_to_bf16(-1.0040F), -1.0078125F);
  EXPECT_EQ(rounded_to_bf16(0.0F), 0.0F);
}

// Cut to its upper half, the last NaN would be infinity.
TEST(Bf16, KeepsInfinityAndNoNumber) {
  EXPECT_EQ(rounded_to_bf16(INFINITY), INFINITY);
  EXPECT_EQ(rounded_to_bf16(std::numeric_limits<float>::max()), INFINITY);
  EXPECT_TRUE(std::isnan(rounded_to_bf16(NAN)));
  EXPECT_TRUE(std::isnan(from_bf16_bits(bf16_bits(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_EQ(from_bf16_bits(bf16_bits(-2.5F)), -2.5F);
}

std::map<std::string, Matrix<float>> trained(const StepOptions& options, const ProcessGrid& grid,
                                             Rounding rounding) {
  Lockstep<float> run(tiny_model(3), options, grid, tiny_seed, rounding);
  for (std::uint64_t step = 0; step < 2; ++step) {
    run.step(random_batch(tiny_model(3), 8, step), {});
  }
  return weights_of(run);
}

TEST(Rounding, WeightsAreWhatBf16CanHold) {
  for (const auto& [parameter, weight] : trained({}, {2, 2, 2, 1}, Rounding::recorded)) {
    for (float w : weight.values) ASSERT_EQ(w, rounded_to_bf16(w)) << parameter;
  }
}

class Overlap : public testing::TestWithParam<const char*> {};

// Choices that move starts and waits, or repeat what is known, change no bit of the weights. Where
// sums are accumulated before or after they are reduced changes their rounding, and in bf16 what is
// reduced in which precision.
TEST_P(Overlap, AndRepetitionsLeaveTheWeightsBitwiseUnchanged) {
  const ProcessGrid grid = ProcessGrid::parse(GetParam());
  std::mt19937 random(tiny_seed);
  for (const Rounding rounding : {Rounding::none, Rounding::recorded}) {
    for (std::int64_t micro_batches : {1, 2, 4}) {
      for (const auto reduction :
           {GradientReduction::per_micro_batch, GradientReduction::accumulated}) {
        StepOptions plain;
        plain.micro_batches = micro_batches;
        plain.overlap = no_overlap;
        plain.gradient_reduction = reduction;
        const auto expected = trained(plain, grid, rounding);
        for (int i = 0; i < 16; ++i) {
          StepOptions options = random_options(random, micro_batches);
          options.gradient_reduction = reduction;
          options.grad_reduce_precision_z = plain.grad_reduce_precision_z;
          options.grad_reduce_precision_data = plain.grad_reduce_precision_data;
          EXPECT_TRUE(trained(options, grid, rounding) == expected) << described(options);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, Overlap,
                         testing::Values("1x1x1x1", "2x2x2x1", "1x2x1x2", "2x1x2x1"));

// Rates so small that no bf16 weight moves in one step still add up in the master weights.
TEST(Rounding, MasterWeightsCollectStepsThatBf16WouldLose) {
  const Model model = tiny_model();
  const Batch batch = counting_batch(model, 4);
  Lockstep<float> run(model, StepOptions{}, {1, 1, 1, 1}, tiny_seed, Rounding::recorded);
  AdamW optimizer;
  optimizer.learning_rate = 2e-4;  // norms start at 1, where half of bf16's spacing is 2e-3
  const Matrix<float> before = run.weight("block0.norm1");

  run.step(batch, optimizer);
  const Matrix<float> after_one = run.weight("block0.norm1");
  for (int i = 0; i < 60; ++i) run.step(batch, optimizer);

  const auto scale = [](const Matrix<float>& m) {
    return std::vector<float>(m.values.begin(), m.values.begin() + m.cols);
  };
  EXPECT_EQ(scale(after_one), scale(before));
  EXPECT_NE(scale(run.weight("block0.norm1")), scale(before));
}

TEST(Rounding, ChangesTheLossByNoMoreThanBf16sDigits) {
  const Batch batch = random_batch(tiny_model(), 4, tiny_seed);
  Lockstep<float> exact(tiny_model(), StepOptions{}, {1, 2, 2, 1}, tiny_seed);
  Lockstep<float> coarse(tiny_model(), StepOptions{}, {1, 2, 2, 1}, tiny_seed, Rounding::recorded);
  roughen(exact);
  roughen(coarse);

  const double expected = exact.step(batch, {}).loss;
  const double loss = coarse.step(batch, {}).loss;

  EXPECT_NE(loss, expected);
  EXPECT_NEAR(loss, expected, expected / 64);  // 2^-8 a rounding, a few of them on the way
}

}  // namespace
}  // namespace fourfold::tests
