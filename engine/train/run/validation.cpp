// Forward passes over windows of words; see validation.hpp.
#include "engine/train/run/validation.hpp"

#include <algorithm>

#include "engine/plan/block_place.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/words.hpp"

namespace fourfold::inline engine::inline train::inline run {

Validation::Validation(const Worker& worker, const Model& model, const StepOptions& options,
                       std::int64_t sequences, Weights& weights)
    : world_(worker.world),
      device_(weights.device()),
      share_{weights.grid(), weights.rank(), sequences, 1},
      tells_(stage_of(share_.grid, share_.rank).last() &&
             is_first(share_.grid, share_.rank, AxisSet{Axis::x, Axis::y})),
      executor_(evaluation_executor(worker, model, options, sequences, weights)) {}

void Validation::add(const LocalBatch& batch, Sum& sum) const {
  if (!tells_) return;
  const std::vector<float> losses = numbers_of(device_, executor_.token_losses());
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (batch.targets[i] == ignored_target) continue;
    sum.loss += static_cast<double>(losses[i]);
    ++sum.words;
  }
}

HeldOutLoss Validation::loss(const Windows& windows) {
  Sum own;
  for (std::int64_t first = 0; first < windows.count(); first += share_.sequences) {
    LocalBatch batch;
    together([&] { batch = windows.batch(first, share_); });
    executor_.step(batch, AdamW{}, 1);
    add(batch, own);
  }
  Sum all;
  for (const Sum& sum : world_.all(own)) {
    all.loss += sum.loss;
    all.words += sum.words;
  }
  return {all.loss / static_cast<double>(std::max<std::int64_t>(1, all.words)), all.words};
}

double Validation::loss_of(const LocalBatch& batch) {
  return world_.from_last(executor_.step(batch, AdamW{}, 1).loss);
}

}  // namespace fourfold::inline engine::inline train::inline run
