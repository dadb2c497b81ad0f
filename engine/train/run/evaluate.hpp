// The loss of a finished checkpoint on files, on any grid, with no training and none of the
// optimizer's state.
#pragma once

#include <string>
#include <vector>

#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/flags/settings.hpp"
#include "engine/train/run/validation.hpp"
#include "engine/train/run/world.hpp"

namespace fourfold::inline engine::inline train::inline run {

struct EvaluateSettings {
  std::string checkpoint;          // its JSON, or a folder, which means its newest
  std::vector<std::string> files;  // or patterns
  ProcessGrid grid;
  Precision precision = Precision::fp32;  // of weights and activations
  std::int64_t batch = 0;                 // sequences side by side; 0: some thousand words
  std::int64_t most_words = 0;            // of each file, from the first on; 0: all
  std::int64_t token_bits = 0;            // of shards without a header
  Screen screen = Screen::lines;
};

struct EvaluatedFile {
  std::string path;
  HeldOutLoss loss;
};

struct Evaluation {
  TrainingState state;
  TokenFormat format = TokenFormat::text;
  std::vector<EvaluatedFile> files;
  std::vector<std::string> data_remarks;  // files that are given twice
  double seconds = 0.0;

  // Over all words of all files.
  HeldOutLoss all() const;
};

// Throws std::runtime_error with one sentence if files, checkpoint and grid do not fit each other.
// Not collective.
void refuse(const EvaluateSettings& settings, const TrainingState& state);

// Every word of a file but its first is a target once; a window of the model's sequence knows
// nothing of what stands before it. Lines or JSON on rank 0's standard output. Collective; throws
// as refuse() does, on all ranks.
Evaluation evaluate(const EvaluateSettings& settings, World& world);

// Several lines; and one line of JSON.
std::string text_of(const Evaluation& evaluation);
std::string json_line(const EvaluateSettings& settings, const Evaluation& evaluation);

}  // namespace fourfold::inline engine::inline train::inline run
