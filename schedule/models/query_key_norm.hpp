// RMS norms of queries and keys between QKV and attention: over the columns of all heads (OLMo 2),
// whose squares are owed along x, or head by head with scales that all heads share (Qwen 3).
#pragma once

#include "schedule/models/layer.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

class QueryKeyNorm {
 public:
  struct Saved {
    Id qkv = -1;
    Id squares = -1;  // over all heads: tokens x {queries, keys}
  };

  QueryKeyNorm(Recorder& r, Label label, const Model& model, SmallGradients& small);

  // tokens x (queries, keys and values of all heads) to the same.
  Forward<Saved> forward(const Recording& in, Id qkv) const;
  // QKV's gradient, and that of the scales to the small gradients.
  Id backward(const Recording& in, const Saved& saved, Id gradient) const;

 private:
  Result result(const Recording& in, const Function& function, const char* name) const {
    return {function, label_ + name, in.r.storage(), attributes_};
  }
  // Sums of queries and of keys over all heads, complete.
  Id sums(const Recording& in, const Function& function, const char* name,
          const std::vector<Id>& operands) const;

  Label label_;
  Attributes attributes_;
  bool by_head_;
  Parameter scales_;
  std::size_t slot_ = 0;
};

}  // namespace fourfold::inline schedule::inline models
