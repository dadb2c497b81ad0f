// What our executables print, and how they end.
#pragma once

#include <stdio.h>
#include <sys/wait.h>

#include <string>

#include "tests/paths.hpp"

namespace fourfold::tests {

struct Printed {
  std::string text;
  int status = -1;
};

inline Printed printed_by(const std::string& words) {
  FILE* pipe = popen((executable_path("fourfold") + " " + words + " 2>/dev/null").c_str(), "r");
  Printed printed;
  for (int letter; (letter = fgetc(pipe)) != EOF;) printed.text += static_cast<char>(letter);
  printed.status = WEXITSTATUS(pclose(pipe));
  return printed;
}

}  // namespace fourfold::tests
