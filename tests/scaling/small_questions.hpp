// Questions that are answered at once, on the tests' own machines, and words as they are typed.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "scaling/records/question.hpp"
#include "tests/machines.hpp"

namespace fourfold::tests {

inline void ignore(const std::string&, double) {}

inline Question question_on(const std::string& machine, std::int64_t devices) {
  Question question;
  question.platform = path_of_machine(machine);
  question.model = {"small", 4, 1024, 8, 512, 4096};
  question.devices = devices;
  question.global_batch = 32;
  return question;
}

// Of a line, between blanks.
inline void parse_words(CLI::App& app, const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> all{std::istream_iterator<std::string>(text), {}};
  std::ranges::reverse(all);  // as CLI11 wants them
  app.parse(all);
}

}  // namespace fourfold::tests
