// A question answered: the search over grids, and the guided simulation of the best.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scaling/jobs/launch.hpp"
#include "scaling/records/finding.hpp"
#include "scaling/records/question.hpp"

namespace fourfold::inline scaling::inline find {

// Options and grid are chosen as if all ranks and links were alike; what-ifs that say otherwise,
// fidelities beyond simulated and the detail apply to a last simulation, of the chosen grid, which
// no rule gives up.
//
// Throws FindingFailed if no grid can answer, if a what-if cannot take effect or a simulation
// fails, and Interrupted. Two simulations run at a time; what they find does not depend on which
// ends first.
Finding find_answer(const Question& question, Fidelity fidelity, const StoppingRule& rule,
                    const ProgressWatch& watch, DetailWanted detail = DetailWanted::none);

// What a simulation said; absent if it used up its work. Throws FindingFailed if it failed.
std::optional<ReplayAnswer> answer_of(const JobResult& result, const Point& point);

// One more simulation of a point: `arguments` as fourfold-replay takes them. Throws FindingFailed
// and Interrupted. `watch` is told the part of the rank-operations that is done.
ReplayAnswer simulate(const Point& point, const std::vector<std::string>& arguments,
                      const std::function<void(double)>& watch);

}  // namespace fourfold::inline scaling::inline find
