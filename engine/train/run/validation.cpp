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

HeldOutLoss Validation::loss(const Data& data, std::int64_t batches) {
  const std::int64_t count = batches_in(data, batches);
  HeldOutLoss result;
  double sum = 0.0, weights = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    LocalBatch batch = data.validation(i * share_.sequences, share_);
    if (data.validation_leaves_out()) count_targets(batch, world_, share_.grid);
    const auto weight = static_cast<double>(batch.counted_targets.value_or(1));
    sum += weight * executor_.step(batch, AdamW{}, 1).loss;
    weights += weight;
    result.words += batch.counted_targets.value_or(share_.sequences * model_.sequence);
  }
  result.mean = world_.from_last(sum) / std::max(weights, 1.0);
  return result;
}

}  // namespace fourfold
