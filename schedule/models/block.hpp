// A GPT block: layer norm, QKV, causal attention, projection, residual, layer norm, MLP up, GELU,
// MLP down, residual; forward, and backward of all of it.
#pragma once

#include <string>
#include <vector>

#include "schedule/models/attention.hpp"
#include "schedule/models/layer_norm.hpp"
#include "schedule/models/linear.hpp"
#include "schedule/models/model.hpp"

namespace fourfold {

class Block {
 public:
  struct Saved {
    Id input = -1, up_out = -1;
    LayerNorm::Saved norm1, norm2;
    Attention::Saved attention;
    Linear::Saved qkv, projection, up, down;
  };

  Block(Recorder& r, const Model& model, std::int64_t layer, Gradients& gradients);

  // tokens x hidden, columns cut by y, to the same. `hiding` is that of the weight gathers.
  Forward<Saved> forward(const Recording& in, Id input, Hiding hiding) const;
  // Repeats forward first, or parts of it, if activations were not kept.
  Id backward(const Recording& in, const Saved& saved, Id gradient) const;
  // By weight: one bucket or several.
  const std::vector<Bucket*>& buckets() const { return buckets_; }
  std::int64_t layer() const { return layer_; }

 private:
  struct Bias {
    Parameter parameter;
    std::size_t slot = 0;
  };
  Label named(const std::string& name) const { return {name, "block", layer_}; }
  Bias bias(Recorder& r, const std::string& name, std::int64_t columns, Axis axis);
  void give_bias(const Recording& in, const Bias& bias, Id gradient) const;

  std::int64_t layer_ = 0;
  SmallGradients* small_;
  std::vector<Bucket*> buckets_;
  LayerNorm norm1_, norm2_;
  Linear qkv_, projection_, up_, down_;
  Attention attention_;
  Bias qkv_bias_, projection_bias_, up_bias_, down_bias_;
};

}  // namespace fourfold
