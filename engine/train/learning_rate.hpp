// The learning rate of each step: a linear warm-up times half a cosine from the peak to a last part
// of it.
#pragma once

#include <cstdint>

namespace fourfold {

struct LearningRate {
  double peak = 2e-3;
  double last_part = 0.05;  // of the peak, when the run is over
  // With 30, Adam's steps of equal size for all weights overshoot in the first block's attention at
  // the default peak: one step at 2.3 nats above its neighbours (seeds 1 and 3).
  std::int64_t warm_up_steps = 100;

  // `step` counts from 1; `done` is the part of the run before it (RunLength::done).
  double at(std::int64_t step, double done) const;
};

}  // namespace fourfold
