// How a step's seconds vary, and what of them is waiting: from the spreads of its machine.
#pragma once

#include "platforms/platform.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline estimate {

struct StepSpread {
  Seconds for_slowest;  // that all wait for the job's slowest device; part of compute
  Seconds for_last;     // for the last member of a group; part of what is exposed
  // Over the median step: what nine of ten steps take at most, and 99 of 100.
  double p90 = 1.0, p99 = 1.0;

  bool operator==(const StepSpread&) const = default;
};

// Of steps of jobs to come. The slowest of as many devices is another one in each job, and
// repetitions differ; what else holds steps up, the machine's tails say: both in squares. Nothing
// varies on a machine that says none of it.
StepSpread step_spread(const Point& point, const Platform& platform);

}  // namespace fourfold::inline sim::inline estimate
