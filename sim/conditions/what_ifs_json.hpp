// What-ifs as JSON: each is the word that people type.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/conditions/what_ifs.hpp"
#include "support/json_object.hpp"

namespace fourfold {

nlohmann::json json_of(const WhatIfs& what_ifs);
// Throws std::runtime_error with a sentence on anything missing, unknown or impossible.
WhatIfs read_what_ifs(JsonObject object);

}  // namespace fourfold
