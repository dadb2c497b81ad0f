// The command line of training: its flags, their help, and what they mean as settings. `fourfold`
// hands the words on, so that they are read in one place.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "engine/train/settings.hpp"

namespace fourfold {

// What was typed. Numbers are read in place, with the defaults of the settings; words are checked
// by settings_of.
struct TrainFlags {
  TrainSettings settings;
  std::string model = "gpt-bytes";
  std::string grid;        // empty: the ranks lie along data
  std::int64_t ranks = 0;  // 0: of the grid; without one, two, or one on a single core
  std::string recompute = "none", precision = "fp32", overlap = "all";
  std::string weight_gather = "per-micro-batch", gradient_reduction = "per-micro-batch";
  std::string data_reduction = "after-backward";
  std::string transport = "ring", progress = "tiles", order = "shuffled";
};

void add_train_flags(CLI::App& verb, TrainFlags& flags);
void add_sampling_flags(CLI::App& verb, SamplingSettings& sampling);

// The grid the flags ask for. Throws std::runtime_error if --ranks and --grid do not agree.
ProcessGrid grid_of(const TrainFlags& flags);

// Throws std::runtime_error or std::invalid_argument with one sentence about a name that is not
// known, a number out of range, or a batch, model and grid that do not fit each other.
TrainSettings settings_of(const TrainFlags& flags);

}  // namespace fourfold
