// Both ends of a GPT that know the vocabulary: token and position embedding, and the output head
// with softmax cross-entropy over a sharded vocabulary. They share one table, rows cut by x,
// columns by y.
#pragma once

#include "schedule/models/layer_norm.hpp"
#include "schedule/models/linear.hpp"
#include "schedule/models/model.hpp"

namespace fourfold {

class Vocabulary {
 public:
  Vocabulary(Recorder& r, const Model& model, SmallGradients& small);

  // tokens x hidden, columns cut by y.
  Id embed(Recorder& r, Id tokens, const StepOptions& options);
  // The loss of each token (tokens x 1), from the last block's output.
  Id head(Recorder& r, Id input, Id targets, const StepOptions& options);
  // After head: tokens x vocabulary, columns cut by x.
  Id logits() const { return logits_; }
  // Gradient of head's input; the table's share is kept for embed_backward.
  Id head_backward(Recorder& r, Id targets, const MicroBatch& m, const StepOptions& options);
  // The table's gradient from both ends, and the positions'.
  void embed_backward(Recorder& r, Id gradient, Id tokens, const MicroBatch& m,
                      const StepOptions& options);
  Bucket& bucket() { return bucket_; }

  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

 private:
  Shape table_shape_;
  std::int64_t sequence_ = 0;
  SmallGradients* small_;
  Bucket bucket_{"vocabulary.gradients"};
  GatheredWeight table_;
  Parameter positions_;
  std::size_t positions_slot_ = 0;
  LayerNorm norm_;
  Id normed_ = -1, logits_ = -1, maxima_ = -1, sums_ = -1;
  Id gathered_ = -1, table_gradient_ = -1;
};

}  // namespace fourfold
