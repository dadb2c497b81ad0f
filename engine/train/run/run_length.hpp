// How long a run trains: a number of steps, a time, or both, whichever is over first.
#pragma once

#include <cstdint>

namespace fourfold::inline engine::inline train::inline run {

// What has been trained: steps and seconds before this run, which resumed them, and in it.
struct Trained {
  std::int64_t steps_before = 0, steps_here = 0;
  double seconds_before = 0.0, seconds_here = 0.0;
  double seconds_of_warm_up = 0.0;  // when its last step was over

  std::int64_t steps() const { return steps_before + steps_here; }
  double seconds() const { return seconds_before + seconds_here; }
};

struct RunLength {
  std::int64_t steps = 0;  // counted over resumed runs; 0: no limit
  double minutes = 0.0;    // counted likewise; 0: no limit

  // The part that is done, 0 to 1. With a limit of steps only it does not depend on the clock, so
  // that such a run can be repeated bit by bit.
  double done(const Trained& trained) const;
  // The part that is done before the last step, where steps end the run; 1 where minutes do.
  double before_last_step() const;
  // Until the end, at the speed of this run; -1 before its first step.
  double seconds_left(const Trained& trained) const;
};

}  // namespace fourfold::inline engine::inline train::inline run
