// Text drawn from the model word by word: all texts side by side as the sequences of one forward
// pass, cut over z and data, their logits put together from the shares along x. A first pass, a
// prefill, reads whole texts; from then on a decoding step reads one word of each, and looks back
// at the keys and values that were kept. Texts that are longer than the model's sequence move along
// their places with every word: they are read whole each time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/train/flags/settings.hpp"
#include "engine/train/run/run_log.hpp"
#include "engine/train/run/worker.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline engine::inline train::inline sample {

// By text: its prompt and the words drawn so far.
using Texts = std::vector<std::vector<std::int32_t>>;

// Told of the texts after every word, on every rank.
using HearWord = std::function<void(const Texts& texts)>;

// How texts are cut into a forward pass: as many as z x data divides, and no sequence parallelism,
// whose x need not divide drawn words.
std::int64_t sequences_of_texts(std::int64_t texts, const ProcessGrid& grid);
StepOptions options_of_texts(StepOptions options, Phase phase);
// The pass of a stage in the options' phase.
Schedule schedule_of_texts(const Model& model, const StepOptions& options, const Stage& stage);
// The logits of all ranks, which each of them puts together.
Bytes host_memory_of_texts(const Model& model, const ProcessGrid& grid, std::int64_t sequences);

class Sampler {
 public:
  // `texts` is rounded up to what z x data divides. No forward pass yet.
  Sampler(const Worker& worker, const Model& model, const StepOptions& options, std::int64_t texts,
          Weights& weights);

  // Prompt and drawn words of each text, the same on every rank and, to rounding, on every grid. A
  // text that ends early has what ended it as its last words (engine/train/sample/ending.hpp).
  // Text i depends on seed and i only. Longer texts see their last words only, as many as fit into
  // the model's sequence. Collective.
  Texts draw(const std::vector<std::int32_t>& prompt, const SamplingSettings& settings,
             const HearWord& hear = {});
  // Of prompts of their own, equally long, as many as there are texts.
  Texts draw(const Texts& prompts, const SamplingSettings& settings, const HearWord& hear = {});

  // Of each word of the vocabulary that may follow the prompt. Collective.
  std::vector<float> logits_after(const std::vector<std::int32_t>& prompt);

 private:
  // The last words of each text, at most as many as `row`; what follows them is padding that no
  // earlier word sees.
  LocalBatch batch_of(const Texts& texts, std::int64_t row) const;
  // A forward pass over what has not been read yet. This rank's logits of the next words.
  std::vector<float> pass(const Texts& texts);
  // Of the word that follows each text, one text after the other.
  std::vector<float> next_logits(const Texts& texts);

  const World& world_;
  DeviceMemory& device_;
  Model model_;
  ProcessGrid grid_;
  std::int64_t rank_ = 0;
  std::int64_t texts_ = 0;
  std::int64_t sequences_ = 0;
  bool cached_ = true;     // as the draw at hand asks for
  std::int64_t kept_ = 0;  // words of each text whose keys and values are kept
  Caches caches_;
  Executor reader_;   // of whole texts
  Executor decoder_;  // of one word each
};

// Prints them, and records them in the log.
void say_texts(const Texts& texts, TokenFormat format, const RunLog& log);

}  // namespace fourfold::inline engine::inline train::inline sample
