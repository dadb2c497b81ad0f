// What a training run is asked for: every flag of `fourfold train` as a value, with its default.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/adamw.hpp"
#include "engine/mpi/channels.hpp"
#include "engine/train/data/data.hpp"
#include "engine/train/run/bad_steps.hpp"
#include "engine/train/run/learning_rate.hpp"
#include "engine/train/run/run_length.hpp"
#include "schedule/models/model.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold::inline engine::inline train::inline flags {

// How a run speaks on standard output: to people, as its log does, or not at all.
enum class Screen : std::uint8_t { lines, json, silent };

// Whether a word that is drawn costs a look at itself, with what earlier ones left in a cache, or
// at the whole text anew.
enum class Decoding : std::uint8_t { cached, whole };
const char* name(Decoding decoding);  // "on", "off": the cache
// Throws std::invalid_argument that lists the known names.
Decoding parse_decoding(const std::string& text);

// What ends a text before all its words are drawn.
struct Endings {
  std::vector<std::int32_t> end_words;           // any of them
  std::vector<std::vector<std::int32_t>> stops;  // any of these, all of its words in a row
};

// How text is drawn from the model.
struct SamplingSettings {
  std::string prompt;
  std::int64_t texts = 2;     // drawn side by side
  std::int64_t tokens = 200;  // of each, beyond the prompt; 0: no texts
  double temperature = 0.8;   // 0: always the likeliest token
  std::int64_t top_k = 0;     // drawn among so many of the likeliest; 0: among all
  double top_p = 1.0;         // and among the fewest of them that have this share; 1: among all
  std::uint64_t seed = 1;
  std::int64_t every = 0;  // steps; 0: only at the end
  Decoding decoding = Decoding::cached;
  Endings endings;
};

struct TrainSettings {
  Model model;
  DataOptions data;
  ProcessGrid grid;         // its size is the number of ranks
  std::int64_t batch = 16;  // sequences of a step, on all ranks
  StepOptions options;
  RunLength length;
  LearningRate learning_rate;
  AdamW optimizer;  // its learning rate is set anew in every step
  BadSteps bad_steps = BadSteps::stop;
  std::uint64_t seed = 1;  // of the weights and the order of the data

  TransportKind transport = TransportKind::automatic;
  ProgressMode progress = ProgressMode::tiles;
  bool tune_kernels = false;
  bool time_reference = false;  // a fixed product after each step
  double hang_timeout = 600.0;  // seconds that ranks wait for one that hangs; 0: for ever

  std::int64_t validate_every = 250;  // steps; 0: only at the end
  SamplingSettings sampling;
  Screen screen = Screen::lines;
  // Steps that share a line on the screen; 0: a line a second. The log has all.
  std::int64_t print_every = 0;

  std::string folder;                 // of everything the run writes
  std::string log;                    // empty: log.jsonl in the folder
  std::string trace;                  // Chrome trace of a step; empty: none
  std::int64_t trace_step = 0;        // counted in this run; 0: the fifth, or the last if fewer
  std::int64_t checkpoint_every = 0;  // steps; 0: not by steps
  double checkpoint_minutes = 30.0;   // since the one before; 0: not by time
  std::int64_t keep_checkpoints = 2;
  std::string resume;  // a checkpoint or a folder of them; empty: from the start
  // The same, of which the weights alone are taken: the run has steps, moments and a schedule of
  // its own. Empty: the weights are drawn.
  std::string start_from;
  // Flags as they were typed, kept in checkpoints: a resumed run goes on with them.
  nlohmann::json typed = nlohmann::json::object();
  std::vector<std::string> changes;  // "--batch 16 instead of 8", since the run that is resumed
  std::string files_taken;           // "--data book.txt", of that run
};

// The options that its steps are recorded by: of those that were asked for, what its grid leaves
// to decide.
StepOptions options_in_effect(const TrainSettings& settings);

}  // namespace fourfold::inline engine::inline train::inline flags
