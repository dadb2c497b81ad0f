// Models as files: schedule/models/*.toml and those of one's own.
#pragma once

#include <string>
#include <vector>

#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

// Reads a model by name (schedule/models/NAME.toml) or by path to a .toml file. Throws
// std::runtime_error: unknown name or key (nearest known), missing or impossible value.
Model read_model(const std::string& name_or_path);
std::vector<std::string> known_models();

}  // namespace fourfold::inline schedule::inline models
