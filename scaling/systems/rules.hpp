// What a system forbids, what it does unless told otherwise, and the space of its configurations.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "scaling/systems/system.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold::inline scaling::inline systems {

// Who set an option of the step, by its key: "default", "system", "search" or who typed it.
using SetBy = std::map<std::string, std::string>;

// Why the system cannot do this, as a sentence with what would be right; empty if it can.
std::string forbidden(const System& system, const StepOptions& options);
std::string forbidden(const System& system, const ProcessGrid& grid, const RankOrder& order,
                      std::int64_t node_devices);

// Whether a search for the system's best configuration looks at the grid.
bool searches(const System& system, const ProcessGrid& grid, const RankOrder& order,
              std::int64_t node_devices);

// An option that is left open, by its key, and what it may be.
struct Choice {
  std::string key;
  std::vector<FieldValue> values;
};

// Every combination of the choices that is allowed, each once: those of the first of `found` first,
// and of each its own value. A choice that leaves nothing is left out.
std::vector<StepOptions> product(std::vector<StepOptions> found, const std::vector<Choice>& choices,
                                 const std::function<bool(const StepOptions&)>& allowed);

// The step's options as the system has them, with what was typed instead: one for each choice that
// is searched and not typed, the usual one first. Never empty. Throws std::runtime_error if what
// was typed is forbidden.
std::vector<StepOptions> variants(const System& system, const FieldValues& typed);

// Of all options; `typist` is who typed, as in "command line".
SetBy set_by(const System& system, const FieldValues& typed, const std::string& typist);

// As on a command line: "interleaved", "2", "on".
std::string word_of(const FieldValue& value);

}  // namespace fourfold::inline scaling::inline systems
