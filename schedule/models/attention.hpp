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

  // Values are named beside `label`'s. `window`: tokens that one looks at, 0: all before it.
  Attention(Label label, const Model& model, std::int64_t window)
      : label_(std::move(label)),
        attributes_{model.sequence, model.group(), model.heads, window},
        rotary_(model.position == PositionKind::rotary) {}

  // tokens x (columns of all heads) of tokens x (those of queries, keys and values).
  Forward<Saved> forward(const Recording& in, Id qkv) const;
  // QKV's gradient.
  Id backward(const Recording& in, const Saved& saved, Id gradient) const;

 private:
  Result stored(const Recording& in, const Function& function, const char* name) const {
    return {function, label_ + name, in.r.storage(), attributes_};
  }
  // What keys and values of the micro-batch's sequences are called.
  Label cache_of(const Recording& in) const;
  // What a phase with a cache reads or writes; -1: this one has none to read.
  Id with_cache(const Recording& in, Id qkv) const;
  Id probabilities(const Recording& in, Id qkv) const;
  Id backward_of_products(const Recording& in, const Saved& saved, Id gradient) const;

  Label label_;
  Attributes attributes_;
  bool rotary_;
};

}  // namespace fourfold::inline schedule::inline models
