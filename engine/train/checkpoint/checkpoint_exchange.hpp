// Between the blocks that ranks hold and the long stretches of a checkpoint that they write: each
// rank writes one stretch of every round, whatever the grid, and gets what it lacks from others.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/train/checkpoint/checkpoint_layout.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// Elements [from, to) of a checkpoint's data.
struct ElementRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

class CheckpointExchange {
 public:
  // The layout must outlive the exchange. Collective; throws std::logic_error if no stage has one
  // of the file's matrices.
  explicit CheckpointExchange(const CheckpointLayout& layout);

  // Elements of a round, of which every rank writes one stretch of at most `stretch_elements`.
  std::int64_t round_elements() const;
  // What this rank writes of a round; nothing where the round is too short for all.
  ElementRange own(ElementRange round) const { return stretch_of(round, rank_); }
  // The elements of own(round). Collective.
  const std::vector<float>& bring(ElementRange round);

 private:
  ElementRange stretch_of(ElementRange round, int writer) const;
  // What this rank has of every stretch: of its own into place, of others to be sent.
  void collect(ElementRange round);
  // Whether this rank is the one that gives a writer what it has of a block.
  bool gives(const SavedBlock& block, int writer) const;

  const CheckpointLayout& layout_;
  int rank_ = 0;
  int ranks_ = 1;
  std::vector<int> first_stage_;  // by place in the file: the first stage that has the matrix
  // By writer: how many runs and elements it gets from this rank.
  std::vector<int> sent_places_, sent_elements_;
  // Element within the writer's stretch and count, run by run; and the elements themselves.
  std::vector<std::int64_t> places_, received_places_;
  std::vector<float> elements_, received_, own_;
};

}  // namespace fourfold::inline engine::inline train::inline checkpoint
