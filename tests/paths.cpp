// The two paths that the build knows; see paths.hpp. Only this unit does, so that clones share all
// other compiled tests.
#include "tests/paths.hpp"

namespace fourfold::tests {

std::string source_path(const std::string& below) {
  return std::string(FOURFOLD_SOURCE_DIR) + "/" + below;
}

std::string executable_path(const std::string& name) {
  return std::string(FOURFOLD_BIN_DIR) + "/" + name;
}

}  // namespace fourfold::tests
