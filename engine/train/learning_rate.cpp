// Warm-up times cosine; see learning_rate.hpp.
#include "engine/train/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fourfold {

double LearningRate::at(std::int64_t step, double done) const {
  const double warm =
      warm_up_steps > 0
          ? std::min(1.0, static_cast<double>(step) / static_cast<double>(warm_up_steps))
          : 1.0;
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * std::clamp(done, 0.0, 1.0)));
  return peak * warm * (last_part + (1.0 - last_part) * cosine);
}

}  // namespace fourfold
