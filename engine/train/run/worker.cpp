// Executors over a machine's lanes; see machine.hpp.
#include "engine/train/run/worker.hpp"

#include "schedule/order/step.hpp"

namespace fourfold {

namespace {

LaneCommunicators communicators(Lanes& lanes) {
  LaneCommunicators result{};
  for (Lane lane : all_lanes) result[static_cast<std::size_t>(lane)] = &lanes[lane];
  return result;
}

Progress between_tiles(Lanes& lanes) {
  return [&lanes] { lanes.between_tiles(); };
}

}  // namespace

Executor training_executor(const Machine& machine, const Model& model, const StepOptions& options,
                           std::int64_t sequences, Weights& weights) {
  return Executor(model, issue(record_step(model, options), options), sequences, weights,
                  machine.backend, communicators(machine.lanes), between_tiles(machine.lanes));
}

Executor evaluation_executor(const Machine& machine, const Model& model, const StepOptions& options,
                             std::int64_t sequences, Weights& weights) {
  return Executor(model, issue(record_evaluation(model, options), options), sequences, weights,
                  machine.backend, communicators(machine.lanes), between_tiles(machine.lanes));
}

}  // namespace fourfold
