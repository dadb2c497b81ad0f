// The loss on text that training never sees: the sum of the losses of its words in fp64, divided by
// how many they are. It does not depend, but for rounding, on how the words are cut into batches
// and over ranks.
#pragma once

#include "engine/train/data/windows.hpp"
#include "engine/train/run/worker.hpp"

namespace fourfold::inline engine::inline train::inline run {

struct HeldOutLoss {
  double mean = 0.0;       // nats a word; 0 if no word counts
  std::int64_t words = 0;  // that it is the mean over: of prompts none
};

class Validation {
 public:
  // So many sequences side by side; what the worker names must outlive it.
  Validation(const Worker& worker, const Model& model, const StepOptions& options,
             std::int64_t sequences, Weights& weights);

  // Of all windows, each once. Collective.
  HeldOutLoss loss(const Windows& windows);

  // Mean loss over this batch, of which each rank has its share.
  double loss_of(const LocalBatch& batch);

 private:
  // What this rank has to tell: ranks along x and y have the same words, the last stage the losses.
  struct Sum {
    double loss = 0.0;
    std::int64_t words = 0;
  };
  void add(const LocalBatch& batch, Sum& sum) const;

  const World& world_;
  DeviceMemory& device_;
  BatchShare share_;
  bool tells_ = false;
  Executor executor_;
};

}  // namespace fourfold::inline engine::inline train::inline run
