// Which elements of a checkpoint's data this rank holds, as runs that lie together both in the file
// and in its blocks. The file is that of the whole model, whatever this rank's stage has of it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/block_place.hpp"
#include "engine/train/checkpoint/safetensors.hpp"
#include "engine/weights.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// `count` elements from `element` of the data, at `local` of the block of matrix number `matrix`.
struct Run {
  std::size_t matrix = 0;
  std::int64_t element = 0;
  std::int64_t local = 0;
  std::int64_t count = 0;
};

struct SavedBlock {
  SavedMatrix matrix;
  Tensor block;
  DeviceMemory* memory = nullptr;  // that the block is in
  BlockPlace place;
  Cuts uncut;  // along these axes every rank of the stage holds the same block
};

// What is saved; or of that all but moments; or, to be read besides, weights whose masters other
// ranks have parts of (ZeRO).
enum class CheckpointBlocks : std::uint8_t { saved, without_moments, weights_of_masters };

// All matrices of a checkpoint of the model, in the order of their names, one behind the other; or
// all but moments.
std::vector<SavedMatrix> saved_matrices(const Model& model,
                                        CheckpointBlocks which = CheckpointBlocks::saved);

class CheckpointLayout {
 public:
  // Where this rank's blocks are in a file of these matrices. A weight that has a master is left
  // out, and the master takes its name. The device must outlive the layout. Throws
  // std::runtime_error with half a sentence that follows the file's name, if one of the matrices is
  // missing or of other extents.
  CheckpointLayout(const Weights& weights, const std::vector<SavedMatrix>& file,
                   CheckpointBlocks which = CheckpointBlocks::saved);

  std::int64_t stage() const { return grid_.coordinate(rank_, Axis::pipe); }
  // Those of this rank, in the order of the file.
  const std::vector<SavedBlock>& blocks() const { return blocks_; }
  // Those of the file.
  const std::vector<SavedMatrix>& matrices() const { return matrices_; }

  // Whether another rank stands where this one does along the block's uncut axes, whatever its
  // stage: of the ranks of a stage that hold the same block, one stands so.
  bool is_same_replica(const SavedBlock& block, std::int64_t other) const;
  // Runs within elements [from, to) of the data, in the order of the file.
  std::vector<Run> runs(std::int64_t from, std::int64_t to) const;

  // Elements of a run as fp32: from its block on the device to `out`, and back, rounded to the
  // block's precision.
  void copy_out(const Run& run, float* out) const;
  void copy_in(const Run& run, const float* in) const;

 private:
  ProcessGrid grid_;
  std::int64_t rank_ = 0;
  std::vector<SavedMatrix> matrices_;
  std::vector<SavedBlock> blocks_;
};

}  // namespace fourfold::inline engine::inline train::inline checkpoint
