// How the sequences of a pass are shared out among devices and micro-batches (engine/batch.hpp).
#pragma once
#include <cstdint>

#include "engine/batch.hpp"
#include "engine/executor.hpp"

namespace fourfold::inline engine::inline train::inline data {

struct BatchShare {
  ProcessGrid grid;
  std::int64_t rank = 0;
  std::int64_t sequences = 0;  // of the whole step, on all devices
  std::int64_t micro_batches = 1;
};

// What `take(batch, i)` adds to the batch for each sequence that is this rank's, `i` being its
// place within the step. Throws std::invalid_argument if the sequences do not divide.
template <typename Take>
LocalBatch shared_out(const BatchShare& cut, const Take& take) {
  check_divides(cut.sequences, cut.grid, cut.micro_batches);
  LocalBatch batch;
  batch.sequences = cut.sequences;
  for (std::int64_t m = 0; m < cut.micro_batches; ++m) {
    const Share mine = share(cut.grid, cut.rank, m, cut.sequences / cut.micro_batches);
    for (std::int64_t i = mine.first; i < mine.first + mine.count; ++i) take(batch, i);
  }
  return batch;
}

}  // namespace fourfold::inline engine::inline train::inline data
