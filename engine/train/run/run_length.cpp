// The part of a run that is done; see run_length.hpp.
#include "engine/train/run/run_length.hpp"

#include <algorithm>
#include <limits>

namespace fourfold::inline engine::inline train::inline run {

double RunLength::done(const Trained& trained) const {
  double part = 0.0;
  if (steps > 0) {
    part = static_cast<double>(trained.steps()) / static_cast<double>(steps);
  }
  if (minutes > 0.0) {
    part = std::max(part, (trained.seconds_before + trained.seconds_here) / (60.0 * minutes));
  }
  return std::min(part, 1.0);
}

double RunLength::before_last_step() const {
  return steps > 0 ? static_cast<double>(steps - 1) / static_cast<double>(steps) : 1.0;
}

double RunLength::seconds_left(const Trained& trained) const {
  if (trained.steps_here < 1) return -1.0;
  double left = std::numeric_limits<double>::infinity();
  if (steps > 0) {
    left = trained.seconds_here / static_cast<double>(trained.steps_here) *
           static_cast<double>(steps - trained.steps());
  }
  if (minutes > 0.0) {
    left = std::min(left, 60.0 * minutes - trained.seconds_before - trained.seconds_here);
  }
  return std::max(left, 0.0);
}

}  // namespace fourfold::inline engine::inline train::inline run
