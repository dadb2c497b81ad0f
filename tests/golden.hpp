// Texts that are compared word for word with a file of tests/golden: read a change before you take
// it over.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "tests/paths.hpp"

namespace fourfold {

// Fails with the first line that differs, and leaves the whole new text in a file that it names.
inline void expect_golden(const std::string& name, const std::string& text) {
  std::ifstream file(source_path("tests/golden/" + name));
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  if (text == golden) return;
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  std::istringstream was_lines(golden);
  std::istringstream is_lines(text);
  std::string was;
  std::string is;
  int line = 0;
  do {
    ++line;
    was = is = "";
    std::getline(was_lines, was);
    std::getline(is_lines, is);
  } while (was == is && (was_lines || is_lines));
  ADD_FAILURE() << "tests/golden/" << name << ", line " << line << " was\n  " << was
                << "\nand is now\n  " << is << "\nThe new text is in " << path;
}

}  // namespace fourfold
