// Platform files for tests: copies of shipped ones with one change, in a folder that goes away.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "platforms/platform.hpp"
#include "tests/paths.hpp"

namespace fourfold::tests {

// A folder of this process, removed when the process ends.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("fourfold-platforms-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path scratch(const std::string& file) {
  static const ScratchFolder folder;
  std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::replace(test.begin(), test.end(), '/', '-');
  return folder.path() / (test + "-" + file);
}

inline std::string shipped_text(const std::string& name) {
  std::ifstream file(source_path("platforms/machines/" + name + ".toml"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A copy of a shipped file with the first `from` replaced by `to`; returns its path.
inline std::string edited(const std::string& name, const std::string& from, const std::string& to) {
  std::string text = shipped_text(name);
  const std::size_t place = text.find(from);
  if (place == std::string::npos) throw std::logic_error("nothing to edit: " + from);
  text.replace(place, from.size(), to);
  const auto path = scratch(name + ".toml");
  std::ofstream(path) << text;
  return path.string();
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
