// Projects the cases of a set and compares them with what was published.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scaling/bars/deviations.hpp"
#include "scaling/records/question.hpp"
#include "scaling/validation/validation_set.hpp"
#include "schedule/fold/memory.hpp"
#include "sim/question/outcome.hpp"

namespace fourfold::inline scaling::inline validation {

struct Projection {
  ProcessGrid grid;
  std::int64_t micro_batches = 1;
  Outcome outcome;
  Bytes memory;        // peak per device
  Bytes memory_limit;  // what the platform's reserve leaves; the run shows that it did fit
  std::vector<MemoryUse> stage_memory = {};  // of rows whose memory was measured
};

struct CaseResult {
  ValidationCase one;
  std::optional<Projection> projection;
  std::string why_not;  // without a projection

  // Of a published run.
  double deviation() const { return projection->outcome.total / one.published - 1.0; }
};

// Equal for rows that ask for the same thing.
std::string configuration_of(const CaseResult& result);
// Equal for rows that a user would choose between.
std::string choice_of(const CaseResult& result);

struct SetResult {
  ValidationSet set;  // without its cases
  Fidelity fidelity = Fidelity::estimated;
  std::vector<CaseResult> cases;
};

// Told what is being done, and how much of the set is.
using WatchSet = std::function<void(const std::string& activity, double done)>;

// Cases with a grid and a micro-batch are projected as they are, whatever memory they would need;
// the others with the best that a search finds. Throws Interrupted.
SetResult run_validation(const ValidationSet& set, Fidelity fidelity, const WatchSet& watch);

enum class SampleSide { in, out };

// Indices of the published cases that ran. A study by name, or all of them if it is empty.
std::vector<std::size_t> cases_that_ran(const SetResult& result, const std::string& study,
                                        SampleSide sample);
Deviations deviations_of_cases(const SetResult& result, const std::vector<std::size_t>& cases);
std::vector<std::string> studies(const SetResult& result);  // in the order of the file

// At least three configurations of one model on as many devices with one batch, in one study: does
// the projection put them in the order in which they were measured? What was measured repeatedly
// counts with its mean.
struct Ranking {
  std::string study;
  std::vector<std::string> ids;
  std::size_t configurations = 0;
  double tau = 0.0;  // Kendall's, of published and projected seconds
  // Of each configuration over the next slower one as measured, in shares of the seconds: the
  // largest difference between the published gain and the projected one.
  double gain_difference = 0.0;
  double regret = 0.0;  // of taking the projection's first choice, in published seconds
};
std::vector<Ranking> rankings(const SetResult& result);

// Why a set is worse than the bound it records, as a sentence; empty if it is not, or if no bound
// is recorded for this fidelity.
std::string worse_than_bound(const SetResult& result);

}  // namespace fourfold::inline scaling::inline validation
