// The part of a run that is done, and its rate; see run_length.hpp.
#include "engine/train/run/run_length.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace fourfold {

double RunLength::done(const Trained& trained) const {
  double part = 0.0;
  if (steps > 0) {
    part =
        static_cast<double>(trained.steps_before + trained.steps_here) / static_cast<double>(steps);
  }
  if (minutes > 0.0) {
    part = std::max(part, (trained.seconds_before + trained.seconds_here) / (60.0 * minutes));
  }
  return std::min(part, 1.0);
}

double RunLength::seconds_left(const Trained& trained) const {
  if (trained.steps_here < 1) return -1.0;
  double left = std::numeric_limits<double>::infinity();
  if (steps > 0) {
    left = trained.seconds_here / static_cast<double>(trained.steps_here) *
           static_cast<double>(steps - trained.steps_before - trained.steps_here);
  }
  if (minutes > 0.0) {
    left = std::min(left, 60.0 * minutes - trained.seconds_before - trained.seconds_here);
  }
  return std::max(left, 0.0);
}

double LearningRate::at(std::int64_t step, double done) const {
  const double warm =
      warm_up_steps > 0
          ? std::min(1.0, static_cast<double>(step) / static_cast<double>(warm_up_steps))
          : 1.0;
  const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * std::clamp(done, 0.0, 1.0)));
  return peak * warm * (last_part + (1.0 - last_part) * cosine);
}

}  // namespace fourfold
