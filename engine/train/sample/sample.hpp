// Text drawn from a finished checkpoint on any grid, with no training and none of the optimizer's
// state.
#pragma once

#include <string>

#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/flags/settings.hpp"
#include "engine/train/run/world.hpp"
#include "engine/train/sample/completions.hpp"
#include "engine/train/sample/ending.hpp"
#include "engine/train/sample/sampler.hpp"

namespace fourfold::inline engine::inline train::inline sample {

struct SampleSettings {
  std::string checkpoint;  // its JSON, or a folder, which means its newest
  ProcessGrid grid;
  Precision precision = Precision::fp32;  // of weights and activations
  SamplingSettings sampling;
  std::string complete;      // a file of documents to be completed, instead of texts; empty: none
  bool with_logits = false;  // of the first word drawn
  Screen screen = Screen::lines;
};

// What was drawn, and from what.
struct SampledTexts {
  TrainingState state;
  TokenFormat format = TokenFormat::text;
  Texts texts;                    // without what ended them
  std::vector<EndedBy> ended_by;  // of each text
  std::vector<float> logits;      // after the prompt, where they were asked for
  Completions completions;        // instead of texts, where they were asked for
  double seconds = 0.0;           // for drawing alone
  double words_per_second = 0.0;  // of all texts
};

// What the words of a checkpoint's data were. Throws std::runtime_error if it does not say.
TokenFormat words_of(const TrainingState& state);

// The precision the run was trained in, of the flags that were typed then.
Precision trained_precision(const TrainingState& state);

// On rank 0's standard output one text appears word by word, several when all are drawn, on
// Screen::json the whole outcome as one line. Collective; throws std::runtime_error or
// std::invalid_argument with one sentence if checkpoint, grid and prompt do not fit each other.
SampledTexts sample_words(const SampleSettings& settings, World& world);

// The outcome as one line of JSON.
std::string json_line(const SampleSettings& settings, const SampledTexts& sample);

}  // namespace fourfold::inline engine::inline train::inline sample
