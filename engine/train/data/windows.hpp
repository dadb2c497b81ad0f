// A stream of words cut into windows of the model's sequence, once and for all: every word but the
// first is a target exactly once, in whatever batches and on whatever grid the windows are read.
// The last window may hold fewer words: what follows them is padding that no loss counts.
#pragma once
#include <cstdint>

#include "engine/train/data/batch_share.hpp"
#include "engine/train/data/token_file.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline engine::inline train::inline data {

class Windows {
 public:
  // Of the stream's first targets, at most so many; 0: of all. The stream must outlive it.
  Windows(const WordStream& words, const Model& model, std::int64_t most_words = 0);

  // Words that are targets, those of prompts, which no loss counts, among them.
  std::int64_t targets() const { return targets_; }
  std::int64_t count() const { return (targets_ + sequence_ - 1) / sequence_; }
  // Whether the loss counts any of them.
  bool any_counts() const;
  // This rank's share of as many windows as it says, from `first` on; those behind the last one are
  // padding. Throws as WordStream::read and shared_out do.
  LocalBatch batch(std::int64_t first, const BatchShare& cut) const;

 private:
  std::int64_t words_in(std::int64_t window) const;

  const WordStream& words_;
  std::int64_t sequence_ = 0, vocabulary_ = 0;
  std::int64_t targets_ = 0;
};

}  // namespace fourfold::inline engine::inline train::inline data
