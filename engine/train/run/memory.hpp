// The memory of a run: how much this process has grown by the kernel's own count (VmHWM), and
// whether a run fits into its nodes, asked before anything large is allocated.
#pragma once
#include <cstdint>
#include <string>

#include "support/quantity.hpp"

namespace fourfold::inline engine::inline train::inline run {

// Returns to the system what has been freed (that of tuning, say): used again, it would hide
// growth.
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

// "1.5 GB".
std::string gigabytes_text(double bytes);

// What this node can still give to new work: MemAvailable of /proc/meminfo, or less where the
// control groups of this process (a container's, a batch job's) allow less.
std::int64_t available_bytes();

// Throws std::runtime_error with the numbers in a sentence if `ranks` on this node, each with so
// much counted memory, need more than is available.
void refuse_without_room(Bytes counted_on_a_rank, std::int64_t ranks, std::int64_t available,
                         std::int64_t offload_bucket = 0);

}  // namespace fourfold::inline engine::inline train::inline run
