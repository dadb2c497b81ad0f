// Looks through the folders of PATH; see on_path.hpp.
#include "support/on_path.hpp"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace fourfold::inline support {

bool on_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace fourfold::inline support
