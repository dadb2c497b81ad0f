// Which grids can share out a model and its batch: x cuts whole heads, of queries and of keys and
// values, and the MLP's columns, y cuts the hidden size, z and data cut each micro-batch by whole
// sequences, pipe cuts the layers.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "schedule/models/model.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold::inline schedule::inline models {

// Why a grid cannot run a model, before memory is looked at: the first reason in this order.
enum class Misfit : std::uint8_t {
  none,
  heads,
  key_value_heads,
  mlp,
  divisibility,
  layers,
  order,
  batch,
  tokens,
  second_factoring
};
// "heads", "key-value heads".
const char* name(Misfit why);
Misfit find_misfit(const Model& model, const ProcessGrid& grid,
                   std::int64_t chunks = 1);  // whatever the batch
Misfit find_misfit(const Model& model, const ProcessGrid& grid, std::int64_t global_batch,
                   const StepOptions& options);
// The same as one sentence; empty if the grid can.
std::string misfit(const Model& model, const ProcessGrid& grid, std::int64_t global_batch,
                   const StepOptions& options);
// Why an order of micro-batches cannot be done on so many stages, as a sentence; empty if it can.
std::string order_misfit(const StepOptions& options, std::int64_t stages);

// The axis, x or y, that the hidden size does not divide along, if the misfit is divisibility.
Axis indivisible_axis(const Model& model, const ProcessGrid& grid);

// Tokens that a step of the phase reads of each sequence.
std::int64_t tokens_of_sequence(const Model& model, Phase phase);
std::int64_t tokens_of_sequence(const Model& model, const StepOptions& options);

// Copies of the model, each with sequences of its own: as many as tokens are cut into.
std::int64_t replicas(const ProcessGrid& grid);
// What a batch is a multiple of, in sequences.
std::int64_t batch_unit(const ProcessGrid& grid, std::int64_t micro_batches);
// The products x y among which the model can be shared out.
std::set<std::int64_t> model_parts(const Model& model);

}  // namespace fourfold::inline schedule::inline models
