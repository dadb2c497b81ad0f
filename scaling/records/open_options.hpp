// Options that nobody decided, neither a user nor the system: what is advised is searched among
// all of their values, so that no default decides it.
#pragma once

#include <string>
#include <vector>

#include "scaling/records/question.hpp"

namespace fourfold::inline scaling::inline records {

// The flags of options that may be left open.
std::vector<std::string> open_option_flags();

// Gives the question a variant for each combination of what is left open: recompute, ZeRO,
// sequence parallelism and how gradients are reduced, of a system among what it allows. `typed` was
// decided by somebody.
void leave_open(Question& question, const FieldValues& typed);

// The flags that differ among the question's variants, as `chosen` has them: "--recompute none
// --zero 1". Empty where nothing was left open.
std::string chosen_flags(const Question& question, const StepOptions& chosen);

}  // namespace fourfold::inline scaling::inline records
