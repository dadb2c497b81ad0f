// Executors over a worker's lanes; see worker.hpp.
#include "engine/train/run/worker.hpp"

#include "schedule/models/transformer.hpp"

namespace fourfold {

namespace {

LaneCommunicators communicators(Lanes& lanes) {
  LaneCommunicators result{};
  for (Lane lane : all_lanes) result[static_cast<std::size_t>(lane)] = &lanes[lane];
  return result;
}

ExecutorMeans means(const Worker& worker, Weights& weights) {
  return {weights, worker.backend, communicators(worker.lanes),
          [&lanes = worker.lanes] { lanes.between_tiles(); }};
}

}  // namespace

Executor training_executor(const Worker& worker, const Model& model, const StepOptions& options,
                           std::int64_t sequences, Weights& weights) {
  return Executor(model, issue(record_step(model, options), options), sequences,
                  means(worker, weights));
}

Executor evaluation_executor(const Worker& worker, const Model& model, const StepOptions& options,
                             std::int64_t sequences, Weights& weights) {
  return Executor(model, issue(record_evaluation(model, options), options), sequences,
                  means(worker, weights));
}

}  // namespace fourfold
