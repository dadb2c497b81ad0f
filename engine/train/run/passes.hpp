// Every pass that a run makes, known before its first step: the step, validation, and the drawing
// of texts. What cannot be done is refused then, and not after hours of training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/train/flags/settings.hpp"
#include "engine/train/run/world.hpp"
#include "schedule/order/issue.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline engine::inline train::inline run {

struct PlannedPass {
  std::string what;  // "the step", "validation"
  Model model;
  StepOptions options;  // that it is recorded with, its phase among them
  std::int64_t sequences = 0;
  Schedule (*schedule)(const Model&, const StepOptions&, const Stage&);
};

// The step first.
std::vector<PlannedPass> passes_of(const TrainSettings& settings);

// Plans it on the ranks of a stage, down to the last buffer, and gives the bytes of its arena.
// Throws std::runtime_error with one sentence if some collective could not be cut among its
// members.
Bytes planned(const PlannedPass& pass, const ProcessGrid& grid, const Stage& stage);

// Throws std::runtime_error with one sentence if a pass cannot be done on the grid, or if the texts
// asked for cannot begin as they are to with such words. No MPI; reads nothing.
void refuse_passes(const TrainSettings& settings, TokenFormat words);

// What the passes after the first step take beside it on a rank of that stage: their arenas, the
// keys and values of texts, and what sampling says to other ranks. Throws as planned() does.
Bytes memory_of_later_passes(const TrainSettings& settings, const Stage& stage);

// Throws std::runtime_error with the numbers in a sentence if all ranks of this node need more for
// steps and later passes than is available.
void refuse_later_without_room(Bytes step, Bytes later, std::int64_t ranks, std::int64_t available);

}  // namespace fourfold::inline engine::inline train::inline run
