// Verbs that work on a finished checkpoint, on any grid (evaluate, sample): what of their command
// lines is the same, their plan and their start.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/train/checkpoint/checkpoint.hpp"
#include "engine/train/flags/flag_group.hpp"
#include "engine/train/flags/settings.hpp"
#include "engine/train/run/world.hpp"
#include "engine/train/verbs.hpp"

namespace fourfold::inline engine::inline train::inline run {

// As it is typed.
struct CheckpointFlags {
  std::string checkpoint;
  std::string grid, precision;  // empty: ranks along data; as it was trained
  std::int64_t ranks = 0;
  bool json = false;
};

void add_checkpoint_flag(FlagGroup& group, CheckpointFlags& flags);
// `otherwise` ends the help of --grid: what the ranks do without it.
void add_grid_flags(FlagGroup& group, CheckpointFlags& flags, const std::string& otherwise);

// The checkpoint that is meant, and what is to work on it.
struct CheckpointWork {
  std::string checkpoint;
  TrainingState state;
  ProcessGrid grid;
  Precision precision = Precision::fp32;  // of weights and activations
  Screen screen = Screen::lines;
};

// All throw std::runtime_error or std::invalid_argument with a sentence.
struct CheckpointVerb {
  const char* name = "";
  const char* description = "";
  std::function<void(CLI::App& verb, CheckpointFlags& flags)> add_flags;
  // Before the checkpoint is looked for, and before ranks are started.
  std::function<void(const CLI::App& typed)> check_flags;
  std::function<void(const CheckpointWork& work)> check;
  std::function<int(const CheckpointWork& work, World& world)> run;  // collective
};

// Returns the exit status.
int run_on_checkpoint(const CheckpointVerb& verb, const Started& started);

}  // namespace fourfold::inline engine::inline train::inline run
