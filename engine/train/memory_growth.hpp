// How much this process has grown: the kernel's own count of resident memory at its peak (VmHWM).
#pragma once

#include <cstdint>

namespace fourfold {

// Returns to the system what has been freed (that of tuning, say): used again, it would hide growth.
void give_back_free_memory();

class MemoryGrowth {
 public:
  // From here on; call it when MPI and BLAS are up.
  MemoryGrowth();
  // What was resident then: program, MPI and libraries.
  std::int64_t before() const { return before_; }
  // Growth of the peak so far, in bytes.
  std::int64_t bytes() const;

 private:
  std::int64_t before_ = 0;
};

}  // namespace fourfold
