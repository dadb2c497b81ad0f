// Both ends of a GPT that know the vocabulary: token and position embedding, and the output head
// with softmax cross-entropy over a sharded vocabulary. They share one table, rows cut by x,
// columns by y; in a pipeline the first and the last stage have a copy each.
#pragma once

#include <optional>

#include "schedule/models/layer_norm.hpp"
#include "schedule/models/linear.hpp"
#include "schedule/models/model.hpp"

namespace fourfold {

class Vocabulary {
 public:
  // What the head's backward needs.
  struct Saved {
    LayerNorm::Saved norm;
    Id normed = -1, table = -1, maxima = -1, sums = -1;
    Id logits = -1;  // tokens x vocabulary, columns cut by x
  };
  // What comes back from the head: the gradient of its input, and the table's share; -1 where
  // gradients of weights are left for later, which then give it.
  struct HeadGradients {
    Id input = -1;
    Id table = -1;
  };

  Vocabulary(Recorder& r, const Model& model, Gradients& gradients);

  // On the first stage: tokens x hidden, columns cut by y.
  Id embed(const Recording& in, Id tokens) const;
  // On the last stage: the loss of each token (tokens x 1), from the last block's output.
  Forward<Saved> head(const Recording& in, Id input, Id targets) const;
  HeadGradients head_backward(const Recording& in, const Saved& saved, Id targets) const;
  // The positions' gradient, and what the embedding adds to the table's.
  Id embed_backward(const Recording& in, Id gradient, Id tokens) const;
  // One micro-batch's gradient of the table: from the embedding, the head, or both.
  void give(const Recording& in, const std::vector<Id>& gradients) const;
  Bucket& bucket() const { return *bucket_; }

 private:
  Shape table_shape_;
  std::int64_t sequence_ = 0;
  Bucket* bucket_;
  std::optional<LayerNorm> norm_;  // before the head
  Parameter table_;
  Parameter positions_;
  std::size_t positions_slot_ = 0;
};

}  // namespace fourfold
