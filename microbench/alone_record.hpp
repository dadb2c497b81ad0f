// How long each operation of a step lasts where nothing is hidden, over many steps.
#pragma once

#include <vector>

#include "engine/executor.hpp"
#include "engine/mpi/handles.hpp"
#include "microbench/ideal_walk.hpp"
#include "microbench/samples.hpp"

namespace fourfold::inline microbench {

class AloneRecord {
 public:
  explicit AloneRecord(const Program& program) : program_(program), seconds_(program.ops.size()) {}

  // A step that began at `origin`, in seconds of the machine's monotonic clock, which its ranks
  // share: a collective lasts from its last member's start to the last one's end.
  void add(const ExecutedStep& step, double origin) {
    std::vector<double> begins, ends;
    for (const OpSpan& span : step.spans) {
      begins.push_back(origin + span.start);
      ends.push_back(origin + span.end);
    }
    const int count = mpi_count(static_cast<std::int64_t>(begins.size()));
    for (std::vector<double>* times : {&begins, &ends}) {
      check_mpi(
          MPI_Allreduce(MPI_IN_PLACE, times->data(), count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD),
          "MPI_Allreduce");
    }
    for (std::size_t i = 0; i < step.spans.size(); ++i) {
      const OpSpan& span = step.spans[i];
      const auto op = static_cast<std::size_t>(span.op);
      seconds_[op].push_back(collective(op) ? ends[i] - begins[i] : span.end - span.start);
    }
  }

  // Medians. Collective over MPI_COMM_WORLD.
  AloneDurations durations() const {
    const std::size_t ops = seconds_.size();
    std::vector<double> own(ops, 0.0);
    AloneDurations result;
    result.collectives.resize(ops, 0.0);
    for (std::size_t op = 0; op < ops; ++op) {
      if (seconds_[op].empty()) continue;
      (collective(op) ? result.collectives : own)[op] = median(seconds_[op]);
    }
    const auto ranks = static_cast<std::size_t>(size_of(MPI_COMM_WORLD));
    std::vector<double> all(ranks * ops);
    const int count = mpi_count(static_cast<std::int64_t>(ops));
    check_mpi(
        MPI_Allgather(own.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, MPI_COMM_WORLD),
        "MPI_Allgather");
    for (std::size_t r = 0; r < ranks; ++r) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(r * ops);
      result.kernels.emplace_back(first, first + static_cast<std::ptrdiff_t>(ops));
    }
    return result;
  }

 private:
  bool collective(std::size_t op) const { return is_collective(program_.ops[op].kind); }

  const Program& program_;
  std::vector<std::vector<double>> seconds_;  // by operation
};

}  // namespace fourfold::inline microbench
