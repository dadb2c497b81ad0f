// Models as files: schedule/models/*.toml, those of one's own, and those of others.
#pragma once

#include <string>
#include <vector>

#include "schedule/models/foreign_config.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

// Reads a model by name (schedule/models/NAME.toml) or by path to a .toml file, a config.json or
// its folder (Hugging Face) or a .yml (GPT-NeoX), or from the arguments of Megatron-LM, each of
// which begins with "--".
// Throws std::runtime_error: unknown name or key (nearest known), missing or impossible
// value.
Model read_model(const std::string& name_or_path);
// The same, with what the file says beyond it.
ForeignModel read_foreign_model(const std::string& name_or_path);
// What that is, as a sentence without its end; empty if nothing.
std::string not_said_by(const std::string& name_or_path);
std::vector<std::string> known_models();

}  // namespace fourfold::inline schedule::inline models
