// The command line of training: its flags, their help, and what they mean as settings. `fourfold`
// hands the words on, so that they are read in one place.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/cpu/openblas_core.hpp"
#include "engine/train/flags/settings.hpp"
#include "support/field.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fourfold::inline engine::inline train::inline flags {

// The options of a step, where nothing is typed.
FieldValues usual_options();

// An option of a step that is projected, but not trained otherwise than usual, and why.
struct ProjectedOnly {
  const char* flag;
  const char* why;
};
inline constexpr std::array projected_only{
    ProjectedOnly{"--products",
                  "the engine multiplies factors as they are stored (--precision bf16 or fp32)"},
    ProjectedOnly{"--pad-vocabulary",
                  "what is trained is the vocabulary that the model says; give it one that is "
                  "padded in its file"},
    ProjectedOnly{"--rank-order", "ranks lie where mpirun puts them, by its --map-by"}};

// What was typed. Numbers are read in place, with the defaults of the settings; words are checked
// by settings_of.
struct TrainFlags {
  TrainSettings settings;
  std::string model = "gpt-bytes";
  std::optional<Model> known_model;  // instead: the checkpoint's, where no model was typed
  std::string grid;                  // empty: the ranks lie along data
  std::int64_t ranks = 0;            // 0: of the grid; without one, two, or one on a single core
  FieldValues options;               // of the step, as typed
  std::string transport = "auto", progress = "tiles", data_order = "shuffled";
  std::string rate_decay = "cosine", bad_steps = "stop";
  double bad_norm = 0.0;  // 0: none is too large
  std::string openblas_core = "auto";
};

void add_train_flags(CLI::App& verb, TrainFlags& flags);
void add_sampling_flags(CLI::App& verb, SamplingSettings& sampling);
// --token-bits, which every verb that reads shards has.
CLI::Option* add_token_bits_flag(CLI::App& verb, std::int64_t& token_bits);

// What --openblas-core asks for, "auto" or "keep"; the flag refuses everything else.
CoreWish core_wish(const std::string& openblas_core);

// The grid that --grid and --ranks ask for: without a grid, `ranks` along data, or `otherwise`
// where that is 0, too. Throws std::runtime_error if they do not agree.
ProcessGrid grid_of(const std::string& grid, std::int64_t ranks, std::int64_t otherwise);

// Throws std::runtime_error with a sentence unless the ranks that mpirun has started are those of
// the grid.
void expect_ranks(const ProcessGrid& grid, std::int64_t started);

// Throws std::runtime_error or std::invalid_argument with one sentence about a name that is not
// known, a number out of range, or a batch, model and grid that do not fit each other.
TrainSettings settings_of(const TrainFlags& flags);

}  // namespace fourfold::inline engine::inline train::inline flags
