// What was trained before a run that goes on from a checkpoint.
#pragma once

#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/run/learning_rate.hpp"

namespace fourfold::inline engine::inline train::inline run {

// When the warm-up ended is in the checkpoint, unless it is of another version or had another
// warm-up: then it is taken to have gone at the speed of all steps.
Trained trained_before(const LearningRate& rate, const TrainingState& state);

}  // namespace fourfold::inline engine::inline train::inline run
