// A validation as tables for people.
#pragma once

#include <string>
#include <vector>

#include "scaling/validation/validation_run.hpp"

namespace fourfold::inline scaling::inline validation {

// Rows, then what did not run and why, then the statistics by set and study.
std::string validation_text(const std::vector<SetResult>& results);

}  // namespace fourfold::inline scaling::inline validation
