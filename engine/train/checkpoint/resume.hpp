// What --resume means: which checkpoint, and what this run does otherwise than the one it goes on
// with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/train/checkpoint/checkpoint.hpp"
#include "schedule/models/model.hpp"

namespace CLI {
class App;
}

namespace fourfold::inline engine::inline train::inline checkpoint {

// The checkpoint, or the folder of them, that people mean by a path: a run's folder stands for its
// checkpoints, the .safetensors file for the .json beside it that speaks of it. Throws
// std::runtime_error if no .json does, or if both the folder and a run's within it hold some. Not
// collective.
std::string checkpoint_meant(const std::string& path);

// The folder itself, or the one that a checkpoint lies in.
std::string folder_of(const std::string& checkpoint);

// Throws std::runtime_error with a sentence if the resumed run trained another model.
void expect_same_model(const Model& resumed, const Model& wanted);

// The same about weights to start from.
void expect_model_of(const std::string& checkpoint, const Model& its, const Model& wanted);

// The flags that were typed when that run was started, by their names of today: the order of the
// data was --order before pipelines had one, and what was read of held-out data depended on the
// batch.
nlohmann::json typed_before(const TrainingState& resumed);

// What was typed now about data and optimizer that is not as it was, or by default would have been,
// when the resumed run was started: "--batch 16 instead of 8". `before` is what typed_flags() kept.
std::vector<std::string> changes_since(const nlohmann::json& before, const CLI::App& now);

// Whether some of these are of what is read.
bool asks_for_other_data(const std::vector<std::string>& changes);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
