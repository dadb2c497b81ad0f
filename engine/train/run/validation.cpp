// Forward passes over the held-out part; see validation.hpp.
#include "engine/train/run/validation.hpp"

#include <algorithm>

namespace fourfold {

Validation::Validation(const Worker& worker, const Model& model, const StepOptions& options,
                       std::int64_t sequences, Weights& weights)
    : world_(worker.world),
      model_(model),
      share_{weights.grid(), weights.rank(), sequences, 1},
      executor_(evaluation_executor(worker, model, options, sequences, weights)) {}

std::int64_t Validation::batches_in(const Data& data, std::int64_t batches) const {
  const std::int64_t whole = data.validation_sequences() / share_.sequences;
  return std::max<std::int64_t>(1, std::min(batches, whole));
}

std::int64_t Validation::tokens(const Data& data, std::int64_t batches) const {
  return batches_in(data, batches) * share_.sequences * model_.sequence;
}

double Validation::loss(const Data& data, std::int64_t batches) {
  const std::int64_t count = batches_in(data, batches);
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const LocalBatch batch = data.validation(i * share_.sequences, share_);
    sum += executor_.step(batch, AdamW{}, 1).loss;
  }
  return world_.from_last(sum) / static_cast<double>(count);
}

}  // namespace fourfold
