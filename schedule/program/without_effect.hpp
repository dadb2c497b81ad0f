// Which options can have no effect beside others, whatever the grid: one list for command lines and
// for files, which refuse what somebody has stated.
#pragma once

#include <optional>
#include <string>

#include "schedule/program/step_options.hpp"

namespace fourfold::inline schedule::inline program {

struct WithoutEffect {
  std::string by;   // the key of the option that leaves nothing to do
  std::string why;  // what that does: "recomputes no layer"
};

// Why the option of this key cannot do what it asks for; nothing if it can.
std::optional<WithoutEffect> why_without_effect(const std::string& key, const StepOptions& options);

}  // namespace fourfold::inline schedule::inline program
