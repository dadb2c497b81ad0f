// Whether a run fits into the memory of its nodes, asked before anything large is allocated.
#pragma once

#include <cstdint>

#include "schedule/quantity.hpp"

namespace fourfold {

// What this node can still give to new work: MemAvailable of /proc/meminfo, or less where the
// control groups of this process (a container's, a batch job's) allow less.
std::int64_t available_bytes();

// Throws std::runtime_error with the numbers in a sentence if `ranks` on this node, each with so
// much counted memory, need more than is available.
void refuse_without_room(Bytes counted_on_a_rank, std::int64_t ranks, std::int64_t available);

}  // namespace fourfold
