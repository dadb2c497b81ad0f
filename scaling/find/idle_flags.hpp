// Options that were typed and change nothing of an answer.
#pragma once

#include <string>
#include <vector>

#include "scaling/records/record.hpp"
#include "support/field.hpp"

namespace fourfold::inline scaling::inline find {

// Of the options that were typed those without which, by estimate, the same step on the same grid
// takes, sends and needs the same: "--zero 3" where there is one replica.
std::vector<std::string> idle_flags(const Record& record, const FieldValues& typed);

// A sentence about them; empty if there are none.
std::string idle_text(const std::vector<std::string>& flags);

}  // namespace fourfold::inline scaling::inline find
