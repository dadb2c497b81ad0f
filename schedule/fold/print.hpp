// A program as text that a person can read: sections, operations, shardings, and where each value
// comes from.
#pragma once

#include <string>

#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline fold {

// The training step in program order: one micro-batch's sections once, equal layers folded to a
// line that says so; then, for each channel, how the schedule moves starts and waits apart.
std::string print_program(const Model& model, const StepOptions& options);

}  // namespace fourfold::inline schedule::inline fold
