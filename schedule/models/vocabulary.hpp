// Both ends of a model that know the vocabulary: token embedding, with learned positions where the
// model has them, and the output head with softmax cross-entropy over a sharded vocabulary. They
// share one table, rows cut by x, columns by y, of which in a pipeline the first and the last stage
// have a copy each; or have one each.
#pragma once

#include <optional>

#include "schedule/models/linear.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/norm.hpp"

namespace fourfold::inline schedule::inline models {

// How many words there is room for on the devices along x together.
std::int64_t padded_vocabulary(const Model& model, const StepOptions& options, std::int64_t x);

class Vocabulary {
 public:
  // What the head's backward needs.
  struct Saved {
    Norm::Saved norm;
    Id normed = -1, table = -1, maxima = -1, sums = -1;
    Id logits = -1;  // tokens x vocabulary, columns cut by x
  };
  // What comes back from the head: the gradient of its input, and the shared table's share; -1
  // where the head has a table of its own, or gradients of weights are left for later: it is given
  // then.
  struct HeadGradients {
    Id input = -1;
    Id table = -1;
  };

  Vocabulary(Recorder& r, const Model& model, const StepOptions& options, Gradients& gradients);

  // On the first stage: tokens x hidden, columns cut by y.
  Id embed(const Recording& in, Id tokens) const;
  // On the last stage: the loss of each token (tokens x 1), from the last block's output.
  Forward<Saved> head(const Recording& in, Id input, Id targets) const;
  HeadGradients head_backward(const Recording& in, const Saved& saved, Id targets) const;
  // The positions' gradient, if they are learned, and what the embedding adds to the table's.
  Id embed_backward(const Recording& in, Id gradient, Id tokens) const;
  // One micro-batch's gradient of the embedding's table: from the embedding, the head, or both.
  void give(const Recording& in, const std::vector<Id>& gradients) const;
  // Of the tables on this stage.
  const std::vector<Bucket*>& buckets() const { return buckets_; }
  // Whether this stage counts their squares: of a shared table the first does.
  bool counts_squares() const { return counts_squares_; }

 private:
  struct Table {
    Parameter parameter;
    Bucket* bucket = nullptr;
  };
  Table table(Recorder& r, const std::string& name, Bucket& bucket);

  Shape table_shape_;
  std::int64_t sequence_ = 0;
  bool tied_ = true, counts_squares_ = true;
  std::vector<Bucket*> buckets_;
  std::optional<Norm> norm_;  // before the head
  Table words_, head_;        // the same, if they are tied
  Parameter positions_;       // weight -1: none are learned
  std::size_t positions_slot_ = 0;
};

}  // namespace fourfold::inline schedule::inline models
