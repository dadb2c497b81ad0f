// One training run on all ranks, from settings to outcome.
#pragma once

#include "engine/train/flags/settings.hpp"
#include "engine/train/run/trainer.hpp"
#include "engine/train/run/world.hpp"

namespace fourfold::inline engine::inline train::inline run {

// What is refused before any work: data that is missing, too short, of another vocabulary, or not
// what the run that is gone on from read (`before`; empty, if none is), folders and files that
// cannot be written. Not collective; throws std::runtime_error with a sentence.
void refuse(const TrainSettings& settings, const TrainingState& before);

// The same for a checkpoint to go on from: it must be of the same model, and not as far as the run
// is to go.
void refuse_resume(const TrainSettings& settings, const TrainingState& state);

// Of the run, as JSON lines.
std::string log_path(const TrainSettings& settings);

// Collective. Throws std::invalid_argument if the world has not as many ranks as the grid.
TrainOutcome train_model(const TrainSettings& settings, World& world);

}  // namespace fourfold::inline engine::inline train::inline run
