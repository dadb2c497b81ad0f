// More simulations of a record's point, each with one thing changed: what every what-if costs, and
// what ideal parts would give.
#pragma once

#include <vector>

#include "scaling/find/find_answer.hpp"
#include "scaling/records/record.hpp"
#include "sim/explain/explanation.hpp"

namespace fourfold::inline scaling::inline find {

// Layers are extended from a checked few where that is possible, whatever the record's fidelity;
// two simulations run at a time. None where one of them alone would take minutes: the record's own
// simulation took more CPU than `longest_rerun_s` and jitter forbids to extend layers.
inline constexpr double longest_rerun_s = 60.0;
std::vector<Ideal> rerun(const Record& record, const ProgressWatch& watch);

}  // namespace fourfold::inline scaling::inline find
