// Clipping and one AdamW step on a shard, element by element.
#pragma once

#include <cmath>

#include "engine/adamw.hpp"
#include "engine/reference/matrix.hpp"

namespace fourfold::inline engine::inline reference {

// What scales the gradient: 1, or less where the root of `squares` exceeds the norm to clip to; 0
// is none.
template <typename T>
T clip_factor(T squares, double clip_norm) {
  const T norm = std::sqrt(squares);
  const T limit = static_cast<T>(clip_norm);
  return clip_norm > 0.0 && norm > limit ? limit / norm : T{1};
}

// The parts of a parameter that one device updates.
template <typename T>
struct Shard {
  View<T> master, first_moment, second_moment;
};

// Bias corrections 1 - beta^step, with steps counted from 1, and what the step has in common.
struct AdamWStep {
  AdamW numbers;
  std::int64_t step = 1;
  double decay = 0.0;

  double correction1() const { return 1 - std::pow(numbers.beta1, static_cast<double>(step)); }
  double correction2() const { return 1 - std::pow(numbers.beta2, static_cast<double>(step)); }
};

template <typename T>
void adamw(const AdamWStep& step, View<const T> gradient, T factor, const Shard<T>& shard) {
  const T beta1 = static_cast<T>(step.numbers.beta1);
  const T beta2 = static_cast<T>(step.numbers.beta2);
  const T correction1 = static_cast<T>(step.correction1());
  const T correction2 = static_cast<T>(step.correction2());
  const T rate = static_cast<T>(step.numbers.learning_rate);
  for (std::int64_t i = 0; i < gradient.size(); ++i) {
    const T g = gradient[i] * factor;
    T& m = shard.first_moment[i];
    T& v = shard.second_moment[i];
    T& weight = shard.master[i];
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const T direction =
        m / correction1 / (std::sqrt(v / correction2) + static_cast<T>(step.numbers.epsilon));
    weight -= rate * (direction + static_cast<T>(step.decay) * weight);
  }
}

}  // namespace fourfold::inline engine::inline reference
