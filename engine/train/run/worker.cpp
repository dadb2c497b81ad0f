// Executors over a worker's channels; see worker.hpp.
#include "engine/train/run/worker.hpp"

#include <numeric>

#include "engine/words.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline engine::inline train::inline run {

Executor executor_of(const Worker& worker, const Model& model, Schedule schedule,
                     std::int64_t sequences, Weights& weights, Caches* caches) {
  ExecutorMeans means{weights, worker.backend,
                      worker.channels.communicators(schedule.program.channels),
                      [&channels = worker.channels] { channels.between_tiles(); }, caches};
  return Executor(model, std::move(schedule), sequences, std::move(means));
}

// Ranks along x, y and pipe have the same words.
void count_targets(LocalBatch& batch, const World& world, const ProcessGrid& grid) {
  const std::vector<std::int64_t> counts = world.all(counted_targets(batch.targets));
  const std::int64_t alike = grid.extent(Axis::x) * grid.extent(Axis::y) * grid.extent(Axis::pipe);
  batch.counted_targets = std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) / alike;
}

Executor training_executor(const Worker& worker, const Model& model, const StepOptions& options,
                           std::int64_t sequences, Weights& weights) {
  const Stage stage = stage_of(weights.grid(), weights.rank());
  return executor_of(worker, model, issue(record_step(model, options, stage), options), sequences,
                     weights);
}

Executor evaluation_executor(const Worker& worker, const Model& model, const StepOptions& options,
                             std::int64_t sequences, Weights& weights) {
  const Stage stage = stage_of(weights.grid(), weights.rank());
  return executor_of(worker, model, issue(record_evaluation(model, options, stage), options),
                     sequences, weights);
}

}  // namespace fourfold::inline engine::inline train::inline run
