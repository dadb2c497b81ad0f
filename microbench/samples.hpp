// Order statistics of samples, and one number of all ranks.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/mpi/handles.hpp"

namespace fourfold::inline microbench {

inline double quantile(std::vector<double> sample, double share) {
  std::sort(sample.begin(), sample.end());
  return sample[static_cast<std::size_t>(share * static_cast<double>(sample.size() - 1) + 0.5)];
}
inline double median(const std::vector<double>& sample) {
  return quantile(sample, 0.5);
}

inline double over_ranks(double own, MPI_Op operation) {
  double all = 0.0;
  check_mpi(MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD), "MPI_Allreduce");
  return all;
}
inline double slowest(double own) {
  return over_ranks(own, MPI_MAX);
}
inline double mean(double own) {
  return over_ranks(own, MPI_SUM) / static_cast<double>(size_of(MPI_COMM_WORLD));
}

}  // namespace fourfold::inline microbench
