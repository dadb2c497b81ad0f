// Files that come with a model of others and hold no weights: its tokenizer, and how it writes.
// They go with the model as bytes, from import to export: into a folder beside the checkpoints,
// from there beside those of each run that starts from them. Only names that are known here are
// taken; links are never followed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/train/checkpoint/filled_folder.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// What each holds, by name.
using CarriedFiles = std::map<std::string, std::string>;

inline constexpr const char* foreign_generation = "generation_config.json";

bool is_carried(const std::string& name);

// All that a folder of others holds. Throws std::runtime_error with a sentence about one that is a
// link, no plain file, or longer than any of its kind.
CarriedFiles carried_files_in(const std::string& folder);

// Beside the checkpoints of a folder, which it makes. They go again, with the folders that were
// made, unless the caller says that all is there.
[[nodiscard]] FilledFolder keep_files(const std::string& checkpoints, const CarriedFiles& files);
// All that there are; none if there is no folder of them.
CarriedFiles kept_files(const std::string& checkpoints);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
