// Causal attention between a block's QKV and its projection: fused, in one kernel each way, or
// unfused, whose probabilities are kept for backward unless it repeats them. Rotary positions turn
// queries and keys before.
#pragma once

#include "schedule/models/layer.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

class Attention {
 public:
  struct Saved {
    Id qkv = -1, output = -1;  // QKV as attention reads it
    Id probabilities = -1;     // unfused
  };

  // Values are named beside `label`'s.
  Attention(Label label, const Model& model)
      : label_(std::move(label)),
        heads_{model.sequence, model.heads, model.group()},
        rotary_(model.position == PositionKind::rotary) {}

  // tokens x (columns of all heads) of tokens x (those of queries, keys and values).
  Forward<Saved> forward(const Recording& in, Id qkv) const;
  // QKV's gradient.
  Id backward(const Recording& in, const Saved& saved, Id gradient) const;

 private:
  Result stored(const Recording& in, const Function& function, const char* name) const {
    return in.stored(function, label_ + name);
  }
  Id probabilities(const Recording& in, Id qkv) const;
  Id backward_of_products(const Recording& in, const Saved& saved, Id gradient) const;

  Label label_;
  Heads heads_;
  bool rotary_;
};

}  // namespace fourfold::inline schedule::inline models
