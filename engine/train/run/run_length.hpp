// How long a run trains: a number of steps, a time, or both, whichever is over first; and the
// learning rate of each of its steps.
#pragma once
#include <cstdint>

namespace fourfold {

// What has been trained: steps and seconds before this run, which resumed them, and in it.
struct Trained {
  std::int64_t steps_before = 0, steps_here = 0;
  double seconds_before = 0.0, seconds_here = 0.0;
};

struct RunLength {
  std::int64_t steps = 0;  // counted over resumed runs; 0: no limit
  double minutes = 0.0;    // counted likewise; 0: no limit

  // The part that is done, 0 to 1. With a limit of steps only it does not depend on the clock, so
  // that such a run can be repeated bit by bit.
  double done(const Trained& trained) const;
  // Until the end, at the speed of this run; -1 before its first step.
  double seconds_left(const Trained& trained) const;
};

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
