// What the search and the guided simulation found out about a question.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "scaling/records/verdict.hpp"
#include "sim/estimate/search.hpp"
#include "sim/question/replay_answer.hpp"

namespace fourfold::inline scaling::inline records {

struct Finding {
  StepOptions options;  // the question's, or the best of its variants by estimate
  SearchResult search;  // every feasible candidate, by estimated seconds
  // Of search.feasible[0, simulated.size()); absent where it took more work than the rule allows.
  std::vector<std::optional<ReplayAnswer>> simulated;
  std::optional<Verdict> verdict;  // absent if nothing was to be simulated
  std::size_t chosen = 0;          // least simulated seconds, or least estimated
  // Of the chosen candidate, with what-ifs that tell ranks or links apart, at a fidelity beyond
  // simulated, or with the detail that was wanted; absent without any of these.
  std::optional<ReplayAnswer> last;

  const Candidate& best() const { return search.feasible[chosen]; }
  const Outcome& outcome() const {
    if (last) return last->outcome;
    return simulated.empty() ? best().estimate.outcome : simulated[chosen]->outcome;
  }
  // Agreement of estimate and simulation over what was simulated; absent below two.
  std::optional<double> tau() const;
  std::optional<double> regret() const;
};

// Why a question has no answer, in a sentence; other questions may have one.
struct FindingFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The answer is no: there is no room for the model, or no grid takes it.
struct DoesNotFit : FindingFailed {
  using FindingFailed::FindingFailed;
};

// Called with what is being done and which part of the question is done, 0 to 1.
using ProgressWatch = std::function<void(const std::string& activity, double done)>;

}  // namespace fourfold::scaling::records
