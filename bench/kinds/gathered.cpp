// One reduction each; see gathered.hpp.
#include "bench/kinds/gathered.hpp"

#include "bench/measure/messages.hpp"
#include "engine/mpi/handles.hpp"

namespace fourfold::inline bench::inline kinds {

std::vector<Sample> slowest_of_ranks(const std::vector<Sample>& own) {
  std::vector<Sample> slowest = own;
  for (Sample& sample : slowest) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, sample.data(),
                            mpi_count(static_cast<std::int64_t>(sample.size())), MPI_DOUBLE,
                            MPI_MAX, MPI_COMM_WORLD),
              "MPI_Allreduce");
  }
  return slowest;
}

bool all_right(bool own) {
  return all_ranks(own);
}

}  // namespace fourfold::inline bench::inline kinds
