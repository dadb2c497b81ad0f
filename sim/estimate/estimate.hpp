// The estimated rung: seconds of one training step in closed form, latency-bandwidth per operation
// and max-plus over the channels, in microseconds of our own time.
#pragma once

#include "platforms/network/axis_rate.hpp"
#include "platforms/platform.hpp"
#include "schedule/fold/count.hpp"
#include "schedule/fold/memory.hpp"
#include "sim/cost/timed_program.hpp"
#include "sim/explain/device_log.hpp"
#include "sim/question/outcome.hpp"
#include "sim/question/point.hpp"

namespace fourfold {

// Walks a timed program once for all devices, which are alike on this rung: a post starts when the
// stream reaches it and its channel is free, a wait holds the stream. Loops are walked until the
// state repeats and then extended exactly.
Outcome estimate(const TimedProgram& program);

// The same walk, every repetition of every loop, with the clock at each step: for a timeline.
DeviceLog estimated_log(const TimedProgram& program);

// The timed program of a point (records, schedules, folds, lowers).
// Throws std::runtime_error if the grid does not fit the model.
TimedProgram lower(const Point& point, const Platform& platform);

// Everything about a point that needs no simulation.
struct Estimate {
  Outcome outcome;
  MemoryUse memory;   // peak per device, without the platform's reserve
  Counts counts;      // per device
  Flops model_flops;  // all devices, the published convention
};
Estimate estimate(const Point& point, const Platform& platform);

// Evaluates many grids of one question quickly: keeps storage, never results.
class Estimator {
 public:
  // Both must outlive the estimator; the point's grid and micro-batches are ignored.
  Estimator(const Platform& platform, const Point& question);

  Bytes memory_limit() const;
  // `folded` must be the step of the question with that number of micro-batches, and the grid fit.
  Estimate evaluate(const Folded& folded, const ProcessGrid& grid, std::int64_t micro_batches);
  // Peak memory alone: less than half the work.
  MemoryUse memory(const Folded& folded, const ProcessGrid& grid, std::int64_t micro_batches);

 private:
  const Platform& platform_;
  const Point& question_;
  AxisRates rates_;
  LocalSizes sizes_;
  TimedProgram program_;
};

}  // namespace fourfold
