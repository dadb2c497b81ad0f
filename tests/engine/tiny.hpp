// A GPT small enough for finite differences, and ways to compare two runs of it.
#pragma once

#include <cmath>
#include <string>

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

}  // namespace fourfold::tests
