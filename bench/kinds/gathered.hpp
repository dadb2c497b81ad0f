// Samples and verdicts of all ranks made one: the slowest, and all right.
#pragma once

#include <vector>

#include "bench/measure/sample.hpp"

namespace fourfold::inline bench::inline kinds {

// Each sample's maximum over ranks. Collective over MPI_COMM_WORLD, as all_right is.
std::vector<Sample> slowest_of_ranks(const std::vector<Sample>& own);
bool all_right(bool own);

}  // namespace fourfold::inline bench::inline kinds
