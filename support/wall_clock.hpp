// Seconds that pass, whoever computes in them.
#pragma once

#include <chrono>

namespace fourfold::inline support {

// Since some moment that is the same for the whole process.
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace fourfold::inline support
