// A question of a user: how fast does this model train on so many devices of this machine? It turns
// into points once a process grid is chosen.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "scaling/systems/rules.hpp"
#include "schedule/models/model.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/step_options.hpp"
#include "sim/question/point.hpp"
#include "support/field.hpp"

namespace fourfold::inline scaling::inline records {

// estimated: the closed form only. simulated: the closed form to order the grids, then SimGrid.
// full, s4u and s4u_step choose the grid like simulated, and then simulate it once more: full with
// every layer and micro-batch, the others with stock SimGrid communications. measured: by training,
// which only campaigns do.
enum class Fidelity : std::uint8_t { estimated, simulated, full, s4u, s4u_step, measured };
const char* name(Fidelity fidelity);
constexpr bool simulates(Fidelity fidelity) {
  return fidelity != Fidelity::estimated && fidelity != Fidelity::measured;
}
// Throws std::runtime_error that names the nearest known one.
Fidelity fidelity_named(const std::string& word);
// The same without measured.
Fidelity projected_fidelity_named(const std::string& word);

// Which grids are looked at: all, by our estimate, or the first ten of the model by which the
// authors of SC24 chose theirs (sim/cost/paper_model.hpp), all of which are simulated.
enum class GridsBy : std::uint8_t { estimate, sc24_model };
const char* name(GridsBy grids_by);
inline constexpr std::int64_t grids_of_a_model = 10;

struct Question {
  std::string platform;  // name or path
  Scales scales;
  std::string software;                 // name or path; empty: the machine's default
  std::string software_by = "machine";  // who chose it
  Model model;
  std::int64_t devices = 0;
  std::int64_t global_batch = 0;  // sequences
  StepOptions options;            // its micro_batches are not looked at
  WhatIfs what_ifs;
  std::optional<ProcessGrid> grid;            // searched if absent
  GridsBy grids_by = GridsBy::estimate;       // those that are searched
  std::vector<std::int64_t> stages{1};        // lengths of pipelines that are searched
  std::optional<std::int64_t> micro_batches;  // searched if absent
  // Sequences of a micro-batch that share z and data, at most, where grids are searched; absent:
  // any.
  std::optional<std::int64_t> most_at_once;
  // That what is answered may not fit. Absent: what fits in all likelihood, and of a grid that is
  // stated what may fit where nothing else does.
  std::optional<double> memory_risk;
  // The rules of a system's grids; and, of a system or left open by the user, the options among
  // which the best by estimate are chosen; `options` are one of them.
  std::optional<System> system;
  std::vector<StepOptions> variants;
  SetBy set_by;
};

// The model by name or path, with other values of its fields. Throws std::runtime_error.
Model model_with(const std::string& name_or_path, const FieldValues& instead);

// Sequences in a batch of so many tokens. Throws std::runtime_error if they do not come out whole.
std::int64_t sequences_in(std::int64_t batch_tokens, const Model& model);

// The question without what-ifs that tell ranks or links apart: what a grid is searched for.
Question uniform(const Question& question);

Point point_of(const Question& question, const ProcessGrid& grid, std::int64_t micro_batches);

// Makes the question one of this software, if it is none yet, with what that means for options that
// nobody set: unfused attention is an option of the step. `typed` were set by somebody. Throws
// std::runtime_error on a name that is not known.
void ask_of_software(Question& question, const std::string& software, const std::string& chosen_by,
                     const FieldValues& typed);

// Makes the question one of a system: options but for the phase, and stages that nobody asked for,
// are the system's.
// `typed` was typed by `typist`; so is the software that the question has already. Throws
// std::runtime_error with a sentence on what the system forbids.
struct TypedOptions {
  FieldValues values;
  std::string typist;  // "command line", "campaign"
};
void ask_of_system(Question& question, const System& system, const TypedOptions& typed,
                   const Platform& platform);

// Makes the question one whose grids are chosen in this way, with what that means for the order of
// the ranks. Throws std::runtime_error on a word that is not known, or a machine that its model
// does not know.
void ask_for_grids_by(Question& question, const std::string& word);

nlohmann::json json_of(const Question& question);

}  // namespace fourfold::inline scaling::inline records
