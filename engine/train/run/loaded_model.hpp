// A checkpoint's model on a grid, for passes that change nothing: weights, kernels, communicators.
#pragma once

#include <string>

#include "engine/cpu/tuned_backend.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/train/run/worker.hpp"
#include "engine/weights.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold::inline engine::inline train::inline run {

class LoadedModel {
 public:
  // Reads its weights. Collective.
  LoadedModel(const std::string& checkpoint, const Model& model, Precision precision,
              const ProcessGrid& grid, World& world);

  const StepOptions& options() const { return options_; }
  Worker worker() { return {world_, channels_, backend_}; }
  Weights& weights() { return weights_; }

 private:
  World& world_;
  StepOptions options_;
  Program program_;
  TunedBackend backend_;
  Channels channels_;
  Weights weights_;
};

}  // namespace fourfold::inline engine::inline train::inline run
