// What a run computes with and speaks over: kernels, communicators and the words between ranks,
// made once for training, validation and sampling.
#pragma once

#include "engine/backend.hpp"
#include "engine/executor.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/train/run/world.hpp"
#include "engine/weights.hpp"

namespace fourfold::inline engine::inline train::inline run {

struct Worker {
  World& world;
  Channels& channels;
  Backend& backend;
};

// Sets how many targets of the whole step count towards the loss, by what each rank's share has.
// Collective.
void count_targets(LocalBatch& batch, const World& world, const ProcessGrid& grid);

// An executor of that worker for a schedule of its stage, of a phase with a cache with those that
// it shares; and of its stage's part in a training step, or in an evaluation.
Executor executor_of(const Worker& worker, const Model& model, Schedule schedule,
                     std::int64_t sequences, Weights& weights, Caches* caches = nullptr);
Executor training_executor(const Worker& worker, const Model& model, const StepOptions& options,
                           std::int64_t sequences, Weights& weights);
Executor evaluation_executor(const Worker& worker, const Model& model, const StepOptions& options,
                             std::int64_t sequences, Weights& weights);

}  // namespace fourfold::inline engine::inline train::inline run
