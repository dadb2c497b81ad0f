// Checkpoints: one safetensors file of global matrices and a small JSON that is renamed last and
// makes it count. Any grid reads what any other wrote, and all grids write the same bytes.
//
//   FOLDER/step-00000100.safetensors   fp32 weights by name ("block0.qkv.weight") and moments
//                                      ("block0.qkv.weight.m", ".v"); bf16 weights are not in it:
//                                      they are their masters, which are, rounded
//   FOLDER/step-00000100.json          step, position, seed, model, the trainer's own, checksums
//
// All functions here are collective over MPI_COMM_WORLD unless they say otherwise, and throw the
// same FailedTogether (engine/mpi/session.hpp) with one sentence on all ranks.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/train/checkpoint/checkpoint_folder.hpp"
#include "engine/weights.hpp"
#include "schedule/models/model.hpp"
#include "support/owned_folder.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

struct TrainingState {
  Model model;
  std::int64_t step = 0;      // optimizer steps done
  std::int64_t position = 0;  // sequences of the training data read (engine/train/data/data.hpp)
  std::uint64_t seed = 0;
  nlohmann::json trainer;  // options, kernel choices: stored and returned as it is
};

class Checkpoints {
 public:
  // Where the folder is there already, removes what unfinished writes have left in it and keeps
  // others from writing there as long as it lives; else the first write makes it, so that a run
  // that fails before leaves none. `keep` newest checkpoints stay, at least 1.
  explicit Checkpoints(const std::string& folder, std::int64_t keep = 2);

  // Weights that have no moments are written without. Returns the JSON's path when everything has
  // reached the disk. Older ones go only when this one is complete, but that all but the
  // newest may go before, on a full disk where that makes room enough. If anything fails (no space,
  // a lost disk), the newest is as it was.
  std::string write(const TrainingState& state, const Weights& weights);
  // Records that the last write removed for its own room, on rank 0.
  const std::vector<std::string>& removed_for_room() const { return removed_; }

 private:
  void use_folder();                                            // on rank 0
  CheckpointDrafts reserve_room(const CheckpointFiles& files);  // on rank 0

  std::string folder_;
  std::int64_t keep_ = 2;
  std::optional<OwnedFolder> owned_;  // on rank 0
  std::vector<std::string> removed_;
};

// Of one checkpoint of the model with moments, its record left out. Not collective.
std::int64_t checkpoint_bytes(const Model& model);

// Removes what a write that was killed has left in a folder, unless a run writes there now. Not
// collective.
void sweep_checkpoints(const std::string& folder);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
