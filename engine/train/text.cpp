// Finding the fortunes; see text.hpp.
#include "engine/train/text.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace fourfold {

std::vector<std::string> default_text(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
    if (!entry.path().has_extension()) files.push_back(entry.path().string());
  }
  if (files.empty()) {
    throw std::runtime_error(folder + " holds no text to train on; install Debian's package " +
                             "fortunes, or name a file with --data");
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace fourfold
