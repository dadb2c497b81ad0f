// Options that were typed and change nothing of an answer.
#pragma once

#include <string>
#include <vector>

#include "scaling/records/record.hpp"
#include "support/field.hpp"

namespace fourfold::inline scaling::inline find {

// Of the options that were typed those without which the same step on the same grid takes, sends
// and needs the same: "--zero 3" where there is one replica. Of a simulation that is said where it
// is sure, or where another one is quick.
std::vector<std::string> idle_flags(const Record& record, const FieldValues& typed);

// The same of the printed program.
std::vector<std::string> idle_flags(const Model& model, const StepOptions& options,
                                    const FieldValues& typed);

// A sentence about them; empty if there are none.
std::string idle_text(const std::vector<std::string>& flags, const std::string& on = "grid");

}  // namespace fourfold::inline scaling::inline find
