// The reader of files that state a space of strategies, such as
// scaling/campaigns/ornl_175b_space.toml.
#pragma once

#include <string>

#include "scaling/find/strategy_words.hpp"

namespace fourfold::inline scaling::inline study {

// Throws std::runtime_error with a sentence that starts with the file: unknown key (nearest known),
// platform, model or word; missing or impossible value.
StrategyQuestion read_strategy_file(const std::string& path);

}  // namespace fourfold::inline scaling::inline study
