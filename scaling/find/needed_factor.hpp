// How fast a part of the machine must be for a step time: a what-if factor solved for.
#pragma once

#include <string>

#include "scaling/find/find_answer.hpp"

namespace fourfold::inline scaling::inline find {

struct Needed {
  std::string key;      // a part or a number of the platform
  double factor = 1.0;  // on it, with four digits
  Seconds without;      // the step as the machine is
  ProcessGrid grid;     // of that answer, which stays
  std::int64_t micro_batches = 1;
  StepOptions options;
};

// The answer is no, but more memory would not help.
struct NoFactor : DoesNotFit {
  using DoesNotFit::DoesNotFit;
};

// Throws NoFactor if no factor from a thousandth to a thousand gives that step, with what limits
// it then; and FindingFailed.
Needed needed_factor(const Question& question, const std::string& key, Seconds step,
                     Fidelity fidelity, const StoppingRule& rule, const ProgressWatch& watch);

}  // namespace fourfold::inline scaling::inline find
