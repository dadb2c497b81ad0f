// Questions that are answered at once, on the tests' own machines.
#pragma once

#include <string>

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

}  // namespace fourfold::tests
