// The vectorised update; see row_update.hpp.
#include "engine/cpu/row_update.hpp"

#include <cmath>

#include "engine/cpu/vectors.hpp"

namespace fourfold::inline engine::inline cpu::rows {

AdamWFactors factors(const reference::AdamWStep& step, float clipping) {
  return {clipping,
          static_cast<float>(step.numbers.beta1),
          static_cast<float>(step.numbers.beta2),
          static_cast<float>(1 / step.correction1()),
          static_cast<float>(1 / step.correction2()),
          static_cast<float>(step.numbers.learning_rate),
          static_cast<float>(step.numbers.epsilon),
          static_cast<float>(step.decay)};
}

// A plain loop: Lanes have no square root, and the compiler vectorises this one itself.
FOURFOLD_CLONES void adamw(const AdamWFactors& factors, const AdamWStretch& stretch,
                           std::int64_t n) {
  const AdamWFactors f = factors;
  const float* __restrict gradient = stretch.gradient;
  float* __restrict master = stretch.master;
  float* __restrict first = stretch.first_moment;
  float* __restrict second = stretch.second_moment;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = gradient[i] * f.gradient;
    const float m = f.beta1 * first[i] + (1 - f.beta1) * g;
    const float v = f.beta2 * second[i] + (1 - f.beta2) * g * g;
    first[i] = m;
    second[i] = v;
    const float direction = m * f.correction1 / (std::sqrt(v * f.correction2) + f.epsilon);
    master[i] -= f.rate * (direction + f.decay * master[i]);
  }
}

}  // namespace fourfold::inline engine::inline cpu::rows
