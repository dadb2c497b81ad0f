// What another file of the same machine says otherwise, and what that means for one question.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline scaling::inline find {

// A number of one file or of both; absent where it has none.
struct NumberChange {
  std::string key;
  std::optional<double> before, after;
};

// Those that differ, in their order; numbers of the tables of measured collectives are not looked
// at.
std::vector<NumberChange> changed_numbers(const Platform& before, const Platform& after);

// The largest of some usual jobs that the machine has devices for, on its best grid by estimate.
struct AnswerChange {
  std::string question;  // "gpt-20b on 256 devices, 4.19 million tokens a batch"
  Seconds before, after;
  std::string grid_before, grid_after;
};

// By names or paths of both files; absent if none of the jobs fits.
std::optional<AnswerChange> changed_answer(const std::string& before, const std::string& after);

}  // namespace fourfold::inline scaling::inline find
