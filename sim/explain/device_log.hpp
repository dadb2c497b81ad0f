// What one device lived through in a timed program: the clock at everything that can hold it up.
// Both timed rungs can write one; a timeline reads it.
#pragma once

#include <vector>

#include "schedule/program/turn.hpp"

namespace fourfold::inline sim::inline explain {

// Seconds since the step began. Posts and waits are counted in unrolled order, as are repetitions.
struct DeviceLog {
  struct Flight {
    double start = 0.0;
    double finish = 0.0;
  };
  std::vector<double> arrive;  // at each post and wait, interference charged ...
  std::vector<double> leave;   // ... and when the stream goes on
  // At the end of each repetition of a loop that is cut short, and at the end of every other loop;
  // may be empty if nothing is cut short.
  std::vector<double> marks;
  std::vector<std::vector<Flight>> flights;  // by channel, in the order of posts
  double end = 0.0;
  std::vector<StepPart> turns;  // that were chosen, of a ready-queue
};

}  // namespace fourfold::inline sim::inline explain
