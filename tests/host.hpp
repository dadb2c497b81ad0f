// The memory of the processor, for tests that need some device.
#pragma once

#include "engine/host_memory.hpp"

namespace fourfold::tests {

inline HostMemory& host_memory() {
  static HostMemory memory;
  return memory;
}

}  // namespace fourfold::tests
