// The estimated rung: seconds of one training step, latency-bandwidth in closed form per operation
// and a max-plus walk over the channels, in microseconds of our own time.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "platforms/network/axis_rate.hpp"
#include "platforms/platform.hpp"
#include "schedule/fold/count.hpp"
#include "schedule/fold/memory.hpp"
#include "sim/cost/timed_program.hpp"
#include "sim/estimate/pipeline_walk.hpp"
#include "sim/explain/device_log.hpp"
#include "sim/question/outcome.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline estimate {

// Walks a timed program once for all devices of a stage, which are alike on this rung: a post
// starts when the stream reaches it and its channel is free, a wait holds the stream. Loops are
// walked until the state repeats and then extended exactly. Stages go on until they need a message;
// what joins stages starts when the last of them has posted it. Times are means over the stages.
// Stages that run what has arrived choose their turns on the way (ready_queue.hpp).
// Throws std::invalid_argument if stages wait for each other for ever.
Outcome estimate_step(const TimedProgram& program);

// The same walk, every repetition of every loop, with the clock at each step: for a timeline of the
// devices of a stage.
DeviceLog estimated_log(const TimedProgram& program, std::int64_t stage = 0);

// The timed program of a point (records, schedules, folds, lowers).
// Throws std::runtime_error if the grid does not fit the model.
TimedProgram lower(const Point& point, const Platform& platform);
// Of its folded stages, where somebody has them already.
TimedProgram lower(const Point& point, const Platform& platform, std::span<const Folded> stages);

// Everything about a point that needs no simulation.
struct Estimate {
  Outcome outcome;
  MemoryUse memory;  // peak per device, without the platform's reserve, on the fullest stage
  std::vector<MemoryUse> stage_memory;
  Counts counts;  // per device, the mean over the stages
};
Estimate estimate_step(const Point& point, const Platform& platform);

// Evaluates many grids of one question quickly: keeps storage, never results.
class Estimator {
 public:
  // Both must outlive the estimator; the point's grid and micro-batches are ignored.
  Estimator(const Platform& platform, const Point& question);
  // With the rates of a platform that has the same nodes and network.
  Estimator(const Platform& platform, const Point& question, AxisRates rates);

  // `stages` must be the step of the question with that number of micro-batches on as many stages
  // as the grid has, and the grid fit.
  Estimate evaluate(const std::vector<Folded>& stages, const ProcessGrid& grid,
                    std::int64_t micro_batches);
  // The same of a pipeline that was made of those stages, faster by far where it has many: what
  // stages have in common is done once. Where the fullest stage needs more than `most`, the
  // estimate is of memory alone: less than half the work. Where no walk can be as short as
  // `longest`, the total is that of a bound and nothing is walked.
  Estimate evaluate(const Pipeline& pipeline, const ProcessGrid& grid, std::int64_t micro_batches,
                    Bytes most = {std::numeric_limits<double>::infinity()},
                    Seconds longest = {std::numeric_limits<double>::infinity()});
  // Peak memory alone, by stage.
  std::vector<MemoryUse> memory(std::span<const Folded> stages, const ProcessGrid& grid,
                                std::int64_t micro_batches);
  // What a stage needs at least: without what software has there all the time.
  Bytes memory_alone(const Folded& stage, const ProcessGrid& grid, std::int64_t micro_batches);
  // How long a stage would take to which messages come without anybody's having to send them, and
  // whose lanes share nothing: no pipeline with that stage is faster. Where that is more than
  // `most`, it may say less, but more than `most` still: what it computes without waiting, or what
  // its busiest channel has to do, is found without a walk. Of a stage that chooses its turns it
  // always says that.
  Seconds alone(const Folded& stage, const ProcessGrid& grid, std::int64_t micro_batches,
                Seconds most = {std::numeric_limits<double>::infinity()});

 private:
  Quantities quantities(std::int64_t micro_batches) const;
  void evaluate_sizes(std::span<const Folded> stages, const ProcessGrid& grid,
                      std::int64_t micro_batches);
  // Of stages whose sizes are evaluated: the program; of those that are lowered: all but the
  // memory.
  void lowered(std::span<const Folded> stages, const ProcessGrid& grid, std::int64_t micro_batches);
  void add_work(const std::vector<Folded>& stages, const ProcessGrid& grid, Estimate& result);

  const Platform& platform_;
  const Point& question_;
  AxisRates rates_;
  std::vector<LocalSizes> sizes_;  // by stage, or by kind of stage
  TimedProgram program_;
  TimedBodies bodies_;
  PipelineWalk walk_;
};

}  // namespace fourfold::inline sim::inline estimate
