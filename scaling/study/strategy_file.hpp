// The reader of files that state a space of strategies, such as
// scaling/campaigns/ornl_175b_space.toml.
#pragma once

#include <optional>
#include <string>

#include "scaling/find/strategy_words.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline scaling::inline study {

// Throws std::runtime_error with a sentence that starts with the file: unknown key (nearest known),
// platform, model or word; missing or impossible value.
StrategyQuestion read_strategy_file(const std::string& path);

// 'memory_risk', the chance that what is answered does not fit; absent: not said. Throws
// std::runtime_error if it is not from 0.01 to 0.99.
std::optional<double> risk_in(JsonObject& object);

}  // namespace fourfold::inline scaling::inline study
