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

// What an earlier run said about a case; no seconds where it did not run.
struct EarlierCase {
  Seconds published;  // 0: nobody has said
  std::optional<Seconds> projected;
  std::string in_sample;
};
// By set, then by row.
using EarlierValidation = std::map<std::string, std::map<std::string, EarlierCase>>;

// Reads what validation_json() wrote. Throws std::runtime_error with a sentence.
EarlierValidation read_validation_json(const std::string& path);

// What moved since, by set and by row; seconds that agree to 0.01 % did not.
std::string changes_text(const EarlierValidation& before, const std::vector<SetResult>& now);

}  // namespace fourfold::inline scaling::inline validation
