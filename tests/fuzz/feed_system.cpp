// One call; see feed_system.hpp.
#include "tests/fuzz/feed_system.hpp"

#include "scaling/systems/system.hpp"

namespace fourfold::tests {

void feed_system(const std::string& path) {
  read_system(path);
}

}  // namespace fourfold::tests
