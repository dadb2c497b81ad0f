// Gradients of every element of every parameter equal finite differences of the loss.
#include <gtest/gtest.h>

#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

// Without a learning rate a step leaves the weights as they are.
AdamW standing_still() {
  AdamW optimizer;
  optimizer.learning_rate = 0.0;
  return optimizer;
}

// (f(-2h) - 8 f(-h) + 8 f(h) - f(2h)) / 12h, wrong by h^4/30 of the fifth derivative.
double finite_difference(Lockstep<double>& run, const std::string& parameter, std::size_t element,
                         const Batch& batch) {
  constexpr double h = 1e-3;
  const Matrix<double> weight = run.weight(parameter);
  const auto loss = [&](double distance) {
    Matrix<double> moved = weight;
    moved.values[element] += distance;
    run.set_weight(parameter, moved);
    return run.step(batch, standing_still()).loss;
  };
  const double slope = (loss(-2 * h) - 8 * loss(-h) + 8 * loss(h) - loss(2 * h)) / (12 * h);
  run.set_weight(parameter, weight);
  return slope;
}

void expect_gradients_equal_finite_differences(const StepOptions& options) {
  Lockstep<double> run({"tiny", 2, 8, 2, 4, 11}, options, {1, 1, 1, 1}, tiny_seed);
  roughen(run);
  const Batch batch = random_batch({"tiny", 2, 8, 2, 4, 11}, 2, tiny_seed);
  run.step(batch, standing_still());
  std::map<std::string, Matrix<double>> gradients;
  for (const std::string& parameter : run.parameters()) {
    gradients[parameter] = run.gradient(parameter);
  }

  for (const auto& [parameter, gradient] : gradients) {
    double largest = 0.0;
    for (double g : gradient.values) largest = std::max(largest, std::abs(g));
    ASSERT_GT(largest, 1e-4) << parameter << " has no gradient to check";
    for (std::size_t i = 0; i < gradient.values.size(); ++i) {
      const double slope = finite_difference(run, parameter, i, batch);
      // 1e-6 relative; elements far below their parameter's largest are held to that one's digits.
      const double tolerance = 1e-6 * std::max(std::abs(gradient.values[i]), 1e-3 * largest);
      ASSERT_NEAR(gradient.values[i], slope, tolerance) << parameter << " element " << i;
    }
  }
}

TEST(Gradient, EqualsFiniteDifferences) {
  expect_gradients_equal_finite_differences({});
}

TEST(Gradient, EqualsFiniteDifferencesOverTwoMicroBatchesWithoutRecompute) {
  StepOptions options;
  options.micro_batches = 2;
  options.recompute = Recompute::none;

  expect_gradients_equal_finite_differences(options);
}

TEST(Gradient, EqualsFiniteDifferencesOfUnfusedAttention) {
  StepOptions options;
  options.attention = AttentionKernel::unfused;
  options.recompute = Recompute::selective;

  expect_gradients_equal_finite_differences(options);
}

}  // namespace
}  // namespace fourfold::tests
