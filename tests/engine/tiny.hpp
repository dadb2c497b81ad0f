// A GPT small enough for finite differences, what runs of small models train, and ways to compare
// two of them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "engine/batch.hpp"
#include "engine/initial_weights.hpp"
#include "engine/reference/lockstep.hpp"

namespace fourfold::tests {

// A vocabulary of 11 divides by no grid, so that every cut of it pads.
inline Model tiny_model(std::int64_t layers = 2) {
  return {"tiny", layers, 12, 4, 5, 11};
}

inline constexpr std::uint64_t tiny_seed = 7;

// Gives every parameter, biases and layer norms too, numbers of a size that all gradients feel.
template <typename T>
void roughen(Lockstep<T>& run) {
  for (const std::string& parameter : run.parameters()) {
    Matrix<T> weight = run.weight(parameter);
    const NormalNumbers numbers(tiny_seed, parameter);
    for (std::size_t i = 0; i < weight.values.size(); ++i) {
      weight.values[i] += static_cast<T>(0.3 * numbers[i]);
    }
    run.set_weight(parameter, weight);
  }
}

template <typename T>
double largest_difference(const Matrix<T>& a, const Matrix<T>& b) {
  double largest = a.values.size() == b.values.size() ? 0.0 : INFINITY;
  for (std::size_t i = 0; i < a.values.size() && i < b.values.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(a.values[i] - b.values[i])));
  }
  return largest;
}

template <typename T>
std::map<std::string, Matrix<T>> weights_of(const Lockstep<T>& run) {
  std::map<std::string, Matrix<T>> weights;
  for (const std::string& parameter : run.parameters()) weights[parameter] = run.weight(parameter);
  return weights;
}

// What two steps of rough weights come to.
struct Trained {
  std::vector<StepResult> steps;
  std::map<std::string, Matrix<double>> weights, gradients;
};

inline constexpr std::int64_t trained_sequences = 12;

inline Trained trained(const Model& model, const StepOptions& options, const ProcessGrid& grid) {
  Lockstep<double> run(model, options, grid, tiny_seed);
  roughen(run);
  Trained result;
  for (std::uint64_t step = 0; step < 2; ++step) {
    result.steps.push_back(run.step(random_batch(model, trained_sequences, step), {}));
  }
  result.weights = weights_of(run);
  for (const std::string& name : run.parameters()) result.gradients[name] = run.gradient(name);
  return result;
}

inline void expect_equal(const Trained& a, const Trained& b, double tolerance = 1e-10) {
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_NEAR(a.steps[i].loss, b.steps[i].loss, tolerance);
    EXPECT_NEAR(a.steps[i].gradient_norm, b.steps[i].gradient_norm, tolerance);
  }
  for (const auto& [name, weight] : a.weights) {
    EXPECT_LE(largest_difference(weight, b.weights.at(name)), tolerance) << name;
    EXPECT_LE(largest_difference(a.gradients.at(name), b.gradients.at(name)), tolerance) << name;
  }
}

}  // namespace fourfold::tests
