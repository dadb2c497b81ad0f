// How far projected peaks of memory lie from measured ones, and whether what ran was said to fit.
#pragma once

#include <string>

#include "scaling/validation/validation_run.hpp"

namespace fourfold::inline scaling::inline validation {

// Of a case with a projection whose memory was measured: what is projected for what was measured.
Bytes projected_memory(const CaseResult& result);
// projected / measured - 1, of a case with a measured peak.
double memory_deviation(const CaseResult& result);
double chance_to_fit(const CaseResult& result);
bool outcome_is_right(const CaseResult& result);

// Of a study by name, or of all if it is empty.
struct MemoryStatistics {
  std::size_t rows = 0;  // about memory, those that cannot be projected as well
  Deviations deviations;
  std::string worst_id;
  double worst = 0.0;
  std::size_t outcomes = 0, right = 0, certain_and_wrong = 0;
};
MemoryStatistics memory_statistics(const SetResult& result, const std::string& study);

// Why a set is worse than the bound on memory that it records, as a sentence; empty if it is not.
std::string memory_worse_than_bound(const SetResult& result);

}  // namespace fourfold::inline scaling::inline validation
