// What an answer chose of what was left open, and what it took for granted: one sentence each.
#pragma once

#include <string>

#include "scaling/records/record.hpp"

namespace fourfold::inline scaling::inline text {

std::string tokens_text(double tokens);  // "1.00T", "300B", "16.8M"

// With what other values of what was taken for granted would change; wrapped, without a line break
// at its end.
std::string choices_text(const Question& asked, const Record& record);

}  // namespace fourfold::inline scaling::inline text
