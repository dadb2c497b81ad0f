// A validation as JSON and as CSV, and what an earlier one said.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scaling/validation/leave_out.hpp"
#include "scaling/validation/validation_run.hpp"

namespace fourfold::inline scaling::inline validation {

std::string validation_json(const std::vector<SetResult>& results,
                            const LeaveOut& intervals);  // one line

// A line a case, also those that did not run; in base units, deviation as a fraction.
std::string validation_csv(const std::vector<SetResult>& results);

// What an earlier run said about a case; neither seconds nor memory where it did not run.
struct EarlierCase {
  Seconds published;  // 0: nobody has said
  std::optional<Seconds> projected;
  std::string in_sample;
  std::optional<Bytes> memory;
};
struct EarlierSet {
  std::string fidelity;
  std::map<std::string, EarlierCase> cases;  // by row
};
using EarlierValidation = std::map<std::string, EarlierSet>;  // by name

// Reads what validation_json() wrote. Throws std::runtime_error with a sentence.
EarlierValidation read_validation_json(const std::string& path);

// Throws std::runtime_error with a sentence where a set was projected with another fidelity then.
void refuse_other_fidelity(const EarlierValidation& before, const std::string& set,
                           Fidelity fidelity);

// What moved since, by set and by row; seconds that agree to 0.01 % did not, nor did the memory of
// rows whose peak was measured.
std::string changes_text(const EarlierValidation& before, const std::vector<SetResult>& now);

}  // namespace fourfold::inline scaling::inline validation
