// Platform files for tests: copies of shipped ones with one change, in a folder that goes away.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "platforms/platform.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {

// A file of this test in a folder of this process.
inline std::filesystem::path scratch(const std::string& file) {
  static const TemporaryFolder folder;
  std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::replace(test.begin(), test.end(), '/', '-');
  return folder.file(test + "-" + file);
}

inline std::string shipped_text(const std::string& name) {
  return content_of(source_path("platforms/machines/" + name + ".toml"));
}

// The path of a scratch file with this text.
inline std::string scratch_file(const std::string& text, const std::string& file = "scratch.toml") {
  const std::filesystem::path path = scratch(file);
  std::ofstream(path) << text;
  return path.string();
}

// A copy of a shipped file with the first `from` replaced by `to`; returns its path.
inline std::string edited(const std::string& name, const std::string& from, const std::string& to) {
  std::string text = shipped_text(name);
  const std::size_t place = text.find(from);
  if (place == std::string::npos) throw std::logic_error("nothing to edit: " + from);
  text.replace(place, from.size(), to);
  return scratch_file(text, name + ".toml");
}

// What the reader says against a platform, or "(accepted)".
inline std::string refusal(const std::string& name_or_path, const Scales& scales = {}) {
  try {
    read_platform(name_or_path, scales);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "(accepted)";
}

}  // namespace fourfold::tests
