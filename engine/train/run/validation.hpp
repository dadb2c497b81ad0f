// The loss on text that training never sees.
#pragma once

#include "engine/train/data/data.hpp"
#include "engine/train/run/worker.hpp"

namespace fourfold {

struct HeldOutLoss {
  double mean = 0.0;       // nats a word
  std::int64_t words = 0;  // that it is the mean over: of prompts none
};

class Validation {
 public:
  // Batches of so many sequences; the data and what the worker names must outlive it.
  Validation(const Worker& worker, const Model& model, const StepOptions& options,
             std::int64_t sequences, Weights& weights);

  // Mean loss over the first `batches` batches of the held-out part, or as many as it has. The same
  // batches every time, so that losses can be compared.
  HeldOutLoss loss(const Data& data, std::int64_t batches);

 private:
  std::int64_t batches_in(const Data& data, std::int64_t batches) const;

  const World& world_;
  Model model_;
  BatchShare share_;
  Executor executor_;
};

}  // namespace fourfold
