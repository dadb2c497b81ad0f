// Text drawn from the model word by word: all texts side by side as the sequences of one forward
// pass, cut over z and data, their logits put together from the shares along x.
#pragma once

#include <functional>
#include <vector>

#include "engine/train/flags/settings.hpp"
#include "engine/train/run/run_log.hpp"
#include "engine/train/run/worker.hpp"

namespace fourfold {

// By text: its prompt and the words drawn so far.
using Texts = std::vector<std::vector<std::int32_t>>;

// Told of the texts after every word, on every rank; whether to go on, the same on all ranks.
using HearWord = std::function<bool(const Texts& texts)>;

class Sampler {
 public:
  // `texts` is rounded up to what z x data divides. No forward pass yet.
  Sampler(const Worker& worker, const Model& model, const StepOptions& options, std::int64_t texts,
          Weights& weights);

  // Prompt and drawn words of each text, the same on every rank and, to rounding, on every grid.
  // Text i depends on seed and i only. Longer texts see their last words only, as many as fit into
  // the model's sequence. Collective.
  Texts draw(const std::vector<std::int32_t>& prompt, const SamplingSettings& settings,
             const HearWord& hear = {});

 private:
  LocalBatch batch_of(const Texts& texts) const;
  // Of one row of each sequence. Nothing but on the last stage.
  std::vector<float> own_logits(std::int64_t row);
  // Of the word that follows each text, one text after the other.
  std::vector<float> next_logits(const Texts& texts);

  const World& world_;
  DeviceMemory& device_;
  Model model_;
  ProcessGrid grid_;
  std::int64_t rank_ = 0;
  std::int64_t texts_ = 0;
  std::int64_t sequences_ = 0;
  Executor executor_;
};

// Prints them, and records them in the log.
void say_texts(const Texts& texts, TokenFormat format, const RunLog& log);

}  // namespace fourfold
