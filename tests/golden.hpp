// Texts that people read, compared word for word with a file of tests/golden. What differs is left
// in the build folder's new_texts/, from where ./test.sh --accept shows the difference and takes it
// over.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "tests/paths.hpp"

namespace fourfold::tests {

inline std::string folded(const std::string& text) {
  constexpr std::size_t width = 200;
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    while (line.size() > width) {
      const std::size_t blank = line.rfind(' ', width - 1);
      const std::size_t length = blank == std::string::npos ? width : blank + 1;
      result += line.substr(0, length) + '\n';
      line.erase(0, length);
    }
    result += line + '\n';
  }
  return result;
}

inline std::string golden_text(const std::string& name) {
  std::ifstream file(source_path("tests/golden/" + name));
  return {std::istreambuf_iterator<char>(file), {}};
}

// Fails with the first line that differs, and leaves the whole new text where --accept finds it.
inline void expect_golden(const std::string& name, const std::string& written) {
  const std::string text = folded(written);
  const std::string golden = golden_text(name);
  const std::filesystem::path path = executable_path("../new_texts/" + name);
  if (text == golden) {
    std::filesystem::remove(path);
    return;
  }
  std::filesystem::create_directories(path.parent_path());
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
                << "\nand is now\n  " << is
                << "\n./test.sh --accept shows the whole difference and takes it over";
}

// Whether two words are the same number but for this part of the larger one.
inline bool alike(const std::string& a, const std::string& b, double tolerance) {
  if (a == b) return true;
  char *end_a = nullptr, *end_b = nullptr;
  const double x = std::strtod(a.c_str(), &end_a);
  const double y = std::strtod(b.c_str(), &end_b);
  const bool numbers = *end_a == '\0' && *end_b == '\0' && !a.empty() && !b.empty();
  return numbers && std::abs(x - y) <= tolerance * std::max(std::abs(x), std::abs(y));
}

// The same where processors may add in another order: numbers may differ by a part of themselves,
// and where all are alike the golden text stays.
inline void expect_golden_numbers(const std::string& name, const std::string& text,
                                  double tolerance) {
  std::istringstream was(golden_text(name));
  std::istringstream is(text);
  bool same = true;
  for (std::string a, b; same;) {
    const bool more_was = static_cast<bool>(was >> a);
    const bool more_is = static_cast<bool>(is >> b);
    if (!more_was && !more_is) return;
    same = more_was && more_is && alike(a, b, tolerance);
  }
  expect_golden(name, text);
}

}  // namespace fourfold::tests
