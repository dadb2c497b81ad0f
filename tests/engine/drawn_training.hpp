// The model of drawn steps, trained from rough weights by an optimizer of which each number counts.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/reference/lockstep.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/engine/tiny.hpp"

namespace fourfold::tests {

inline AdamW drawn_optimizer() {
  AdamW optimizer;
  optimizer.learning_rate = 3e-3;
  optimizer.beta1 = 0.8;
  optimizer.weight_decay = 0.2;
  optimizer.clip_norm = 0.7;
  return optimizer;
}

template <typename T>
std::vector<StepResult> train(Lockstep<T>& run, std::int64_t sequences, std::uint64_t steps) {
  roughen(run);
  std::vector<StepResult> results;
  for (std::uint64_t step = 0; step < steps; ++step) {
    results.push_back(run.step(random_batch(trained_model, sequences, step), drawn_optimizer()));
  }
  return results;
}

}  // namespace fourfold::tests
