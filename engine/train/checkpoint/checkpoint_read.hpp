// Reading checkpoints: the record, then weights and every checksum in one pass. Collective and
// refusing as checkpoint.hpp says.
#pragma once

#include <string>

#include "engine/train/checkpoint/checkpoint.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// `path` is a checkpoint's JSON, or a folder, which means its newest. What training must know
// before it can plan; reads the JSON only.
TrainingState read_training_state(const std::string& path);

// Fills the weights and verifies every checksum; after a refusal the weights are good for nothing.
// Weights without moments (for
// sampling) take what they need. The sentence of a refusal names the file, what is wrong with it,
// and the newest other checkpoint in its folder that is whole.
TrainingState read_checkpoint(const std::string& path, const Model& model, Weights& weights);

// The same of weights alone: moments stay as they are, and the checkpoint need not have any.
TrainingState read_weights(const std::string& path, const Model& model, Weights& weights);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
