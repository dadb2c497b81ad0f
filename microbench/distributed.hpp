// What benchmarks on several ranks share: the slowest rank's seconds, quantiles of a sample, and a
// run of Google Benchmark in which only rank 0 speaks.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <benchmark/benchmark.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "engine/mpi/session.hpp"

namespace fourfold::inline microbench {

// Seconds of each repetition.
using Timings = std::vector<double>;

// From a common barrier to the end of the slowest rank.
inline double seconds_of(const std::function<void()>& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  work();
  double seconds = MPI_Wtime() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

inline double quantile(Timings sample, double share) {
  std::sort(sample.begin(), sample.end());
  return sample[static_cast<std::size_t>(share * static_cast<double>(sample.size() - 1) + 0.5)];
}

class Silence : public benchmark::BenchmarkReporter {
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& /*runs*/) override {}
};

// The whole of a main; `add_benchmarks` registers them, with fixed iterations: a number of its own
// on each rank would leave ranks waiting for each other.
inline int run_on_all_ranks(int argc, char** argv, void (*add_benchmarks)()) {
  return run_session(argc, argv, [&](const Session& session) {
    add_benchmarks();
    benchmark::Initialize(&argc, argv);
    Silence silence;
    if (session.rank() == 0) {
      benchmark::RunSpecifiedBenchmarks();
    } else {
      benchmark::RunSpecifiedBenchmarks(&silence);
    }
    return 0;
  });
}

}  // namespace fourfold::inline microbench
