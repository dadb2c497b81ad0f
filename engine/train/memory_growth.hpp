// How much this process has grown: the kernel's own count of resident memory at its peak (VmHWM).
#pragma once

#include <cstdint>

namespace fourfold {

class MemoryGrowth {
 public:
  // From here on; call it when MPI and BLAS are up.
  MemoryGrowth();
  // Growth of the peak so far, in bytes.
  std::int64_t bytes() const;

 private:
  std::int64_t before_ = 0;
};

}  // namespace fourfold
