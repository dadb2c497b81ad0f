// Steps of a small GPT on all ranks, along data: the engine as it trains, without reading words or
// writing logs.
#pragma once

#include <memory>

#include "engine/executor.hpp"

namespace fourfold::inline bench::inline measure {

class TrainingRun {
 public:
  // So many sequences a rank, ranks along data, over rings. Collective over MPI_COMM_WORLD, as
  // seconds() is.
  TrainingRun(const Model& model, std::int64_t sequences_a_rank);
  ~TrainingRun();

  // Of one step on all ranks: model flops as Narayanan et al. count them (SC21, eq. 3).
  double flops() const;
  // Seconds of one step of the slowest rank, from a barrier.
  double seconds();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fourfold::inline bench::inline measure
