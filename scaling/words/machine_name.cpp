// The name without folders and ending; see machine_name.hpp.
#include "scaling/words/machine_name.hpp"

#include <filesystem>

namespace fourfold::inline scaling::inline words {

std::string machine_name(const std::string& platform) {
  return std::filesystem::path(platform).stem().string();
}

}  // namespace fourfold::inline scaling::inline words
