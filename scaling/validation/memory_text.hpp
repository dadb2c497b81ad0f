// Tables of measured and projected memory: a row a run, and statistics by study.
#pragma once

#include <string>

#include "scaling/validation/validation_run.hpp"

namespace fourfold::inline scaling::inline validation {

// Empty where no row is about memory.
std::string memory_rows_text(const SetResult& result);
std::string memory_statistics_text(const SetResult& result);

}  // namespace fourfold::inline scaling::inline validation
