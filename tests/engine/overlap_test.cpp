// Choices that move starts and waits, or repeat what is known, change no bit of the weights.
#include <gtest/gtest.h>

#include "tests/engine/tiny.hpp"
#include "tests/schedule/steps.hpp"

namespace fourfold::tests {
namespace {

std::map<std::string, Matrix<float>> trained(const StepOptions& options, const ProcessGrid& grid) {
  Lockstep<float> run(tiny_model(3), options, grid, tiny_seed);
  for (std::uint64_t step = 0; step < 2; ++step) {
    run.step(random_batch(tiny_model(3), 8, step), {});
  }
  std::map<std::string, Matrix<float>> weights;
  for (const std::string& parameter : run.parameters()) {
    weights[parameter] = run.weight(parameter);
  }
  return weights;
}

StepOptions plain(std::int64_t micro_batches) {
  StepOptions options;
  options.micro_batches = micro_batches;
  options.overlap = no_overlap;
  return options;
}

class Overlap4D : public testing::TestWithParam<std::string> {
 protected:
  ProcessGrid grid() const { return ProcessGrid::parse(GetParam()); }
};

TEST_P(Overlap4D, EveryCombinationAndWindowLeavesTheWeightsBitwiseUnchanged) {
  const auto expected = trained(plain(2), grid());

  for (int bits = 0; bits < 16; ++bits) {
    for (std::int64_t window : {0, 1, 2, 5}) {
      StepOptions options = plain(2);
      options.overlap = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
      options.in_flight_blocks = window;
      EXPECT_TRUE(trained(options, grid()) == expected) << described(options);
    }
  }
}

// Where sums are accumulated before or after they are reduced changes their rounding; nothing else
// in the options may.
TEST_P(Overlap4D, RandomOptionsLeaveTheWeightsBitwiseUnchanged) {
  std::mt19937 random(tiny_seed);
  for (std::int64_t micro_batches : {1, 2, 4}) {
    std::map<GradientReduction, std::map<std::string, Matrix<float>>> expected;
    for (const auto reduction :
         {GradientReduction::per_micro_batch, GradientReduction::accumulated}) {
      StepOptions options = plain(micro_batches);
      options.gradient_reduction = reduction;
      expected[reduction] = trained(options, grid());
    }
    for (int i = 0; i < 25; ++i) {
      const StepOptions options = random_options(random, micro_batches);
      EXPECT_TRUE(trained(options, grid()) == expected[options.gradient_reduction])
          << described(options);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, Overlap4D,
                         testing::Values("1x1x1x1", "2x2x2x1", "1x2x1x2", "2x1x2x1"),
                         [](const auto& param_info) { return param_info.param; });

}  // namespace
}  // namespace fourfold::tests
