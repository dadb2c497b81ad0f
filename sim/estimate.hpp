// The estimated rung: seconds of one training step in closed form, latency-bandwidth per operation
// and max-plus over the lanes, in microseconds of our own time.
#pragma once

#include "platforms/platform.hpp"
#include "platforms/topology.hpp"
#include "schedule/count.hpp"
#include "sim/outcome.hpp"
#include "sim/point.hpp"
#include "sim/timed_program.hpp"

namespace fourfold {

// Walks a timed program once for all devices, which are alike on this rung: a post starts when the
// stream reaches it and its lane is free, a wait holds the stream. Loops are walked until the state
// repeats and then extended exactly.
Outcome estimate(const TimedProgram& program);

// The timed program of a point (records, schedules, folds, lowers).
// Throws std::runtime_error if the grid does not fit the model.
TimedProgram lower(const Point& point, const Platform& platform);

// Everything about a point that needs no simulation.
struct Estimate {
  Outcome outcome;
  Bytes memory;              // peak per device, without the platform's reserve
  Flops executed;            // per device, what the kernels do
  Flops model_flops;         // all devices, the published convention
};
Estimate estimate(const Point& point, const Platform& platform);

}  // namespace fourfold
