// Attention unfused trains what the fused kernel trains, on any grid; and what is repeated in
// backward changes no bit.
#include <gtest/gtest.h>

#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

constexpr std::int64_t sequences = 4;

struct Trained {
  std::vector<StepResult> steps;
  std::map<std::string, Matrix<double>> weights;
};

Trained trained(const StepOptions& options, const ProcessGrid& grid) {
  Lockstep<double> run(tiny_model(), options, grid, tiny_seed);
  roughen(run);
  Trained result;
  for (std::uint64_t step = 0; step < 2; ++step) {
    result.steps.push_back(run.step(random_batch(tiny_model(), sequences, step), {}));
  }
  for (const std::string& parameter : run.parameters()) {
    result.weights[parameter] = run.weight(parameter);
  }
  return result;
}

void expect_within(const Trained& a, const Trained& b, double tolerance) {
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_NEAR(a.steps[i].loss, b.steps[i].loss, tolerance);
    EXPECT_NEAR(a.steps[i].gradient_norm, b.steps[i].gradient_norm, tolerance);
  }
  for (const auto& [parameter, weight] : a.weights) {
    EXPECT_LE(largest_difference(weight, b.weights.at(parameter)), tolerance) << parameter;
  }
}

StepOptions unfused(Recompute recompute) {
  StepOptions options;
  options.precision = Precision::fp32;
  options.attention = AttentionKernel::unfused;
  options.recompute = recompute;
  return options;
}

TEST(UnfusedAttention, TrainsWhatTheFusedKernelTrainsOnAnyGrid) {
  StepOptions fused;
  fused.precision = Precision::fp32;
  const Trained expected = trained(fused, {1, 1, 1, 1});

  for (const ProcessGrid& grid :
       {ProcessGrid(1, 1, 1, 1), ProcessGrid(4, 1, 1, 1), ProcessGrid(2, 2, 1, 1),
        ProcessGrid(2, 1, 2, 1), ProcessGrid(1, 3, 2, 2), ProcessGrid(2, 1, 1, 1, 2)}) {
    for (Recompute recompute : {Recompute::selective, Recompute::none}) {
      SCOPED_TRACE(grid.str() + " recompute " + name(recompute));
      StepOptions options = unfused(recompute);
      options.micro_batches = grid.extent(Axis::pipe);
      expect_within(trained(options, grid), expected, 1e-10);
    }
  }
}

TEST(UnfusedAttention, TrainsTheSameWithSequencesCutAlongX) {
  const Trained expected = trained(unfused(Recompute::none), {1, 1, 1, 1});
  StepOptions options = unfused(Recompute::selective);
  options.sequence_parallel = true;

  expect_within(trained(options, {4, 1, 1, 1}), expected, 1e-10);
  expect_within(trained(options, {2, 2, 2, 1}), expected, 1e-10);
}

TEST(Recompute, OfAnyKindChangesNoBit) {
  for (AttentionKernel attention : {AttentionKernel::fused, AttentionKernel::unfused}) {
    for (Precision precision : {Precision::bf16, Precision::fp32}) {
      StepOptions options = unfused(Recompute::none);
      options.attention = attention;
      options.precision = precision;
      const Trained expected = trained(options, {2, 1, 1, 1});
      for (Recompute recompute : {Recompute::selective, Recompute::full}) {
        SCOPED_TRACE(std::string(name(attention)) + " " + name(precision) + " " + name(recompute));
        options.recompute = recompute;
        expect_within(trained(options, {2, 1, 1, 1}), expected, 0.0);
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
