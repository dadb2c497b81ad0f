// What a question asks too much memory for, and what would make it fit: one change of the question
// after the other, or two together, each searched.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/records/question.hpp"
#include "sim/estimate/search.hpp"

namespace fourfold::inline scaling::inline find {

struct WayOut {
  std::string what;                          // "recompute full", "twice the devices, along z"
  std::map<std::string, std::string> flags;  // to type besides or instead; no word: to leave out
  Candidate found;
  double chance = 0.0;  // to fit

  double device_seconds() const;
};

struct Shortage {
  Point point;  // what needs least memory of all that was asked for
  Candidate found;
  std::vector<WayOut> ways;  // fewest device-seconds first
};

// Absent where no room would help: no grid takes the model and its batch.
std::optional<Shortage> shortage(const Question& question, const Platform& platform);

}  // namespace fourfold::inline scaling::inline find
