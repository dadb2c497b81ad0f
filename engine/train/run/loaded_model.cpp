// Weights from the file onto a grid; see loaded_model.hpp.
#include "engine/train/run/loaded_model.hpp"

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::inline engine::inline train::inline run {

namespace {

StepOptions options_in(Precision precision) {
  StepOptions options;
  options.precision = precision;
  options.recompute = Recompute::none;
  return options;
}

}  // namespace

LoadedModel::LoadedModel(const std::string& checkpoint, const Model& model, Precision precision,
                         const ProcessGrid& grid, World& world)
    : world_(world),
      options_(options_in(precision)),
      program_(record_evaluation(model, options_, stage_of(grid, world.rank()))),
      channels_(grid, program_.channels, TransportKind::ring, ProgressMode::tiles,
                backend_.memory()),
      weights_(program_, grid, world.rank(), backend_.memory()) {
  read_checkpoint(checkpoint, model, weights_);
}

}  // namespace fourfold::inline engine::inline train::inline run
