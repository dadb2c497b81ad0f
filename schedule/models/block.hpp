// A transformer block: norm, QKV, causal attention, projection, residual, norm, MLP up, GELU or
// SwiGLU, MLP down, residual; forward, and backward of all of it. The model says which norm, which
// MLP, whether products have biases, and whether the MLP reads what attention made or what it read.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/models/attention.hpp"
#include "schedule/models/linear.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/norm.hpp"

namespace fourfold::inline schedule::inline models {

class Block {
 public:
  struct Saved {
    Id input = -1;
    Id up_out = -1;  // what the activation reads: of GELU before its bias
    Norm::Saved norm1, norm2;
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
  // None, if the model's products have none; all that follows does nothing then.
  std::optional<Bias> bias(Recorder& r, const std::string& name, std::int64_t columns, Axis axis);
  void give_bias(const Recording& in, const std::optional<Bias>& bias, Id gradient) const;
  Id biased(const Recording& in, const std::string& name, const std::optional<Bias>& bias,
            Id product) const;
  Id with_residual(const Recording& in, const std::string& name, const std::optional<Bias>& bias,
                   const std::pair<Id, Id>& product_and_residual) const;
  Forward<Saved> forward_parallel(const Recording& in, Saved saved, Id attended,
                                  Hiding hiding) const;
  Id activated(const Recording& in, Id up) const;
  Id activated_backward(const Recording& in, Id up, Id gradient) const;

  std::int64_t layer_ = 0;
  bool has_biases_, parallel_, swiglu_;
  SmallGradients* small_;
  std::vector<Bucket*> buckets_;
  Norm norm1_, norm2_;
  Linear qkv_, projection_, up_, down_;
  Attention attention_;
  std::optional<Bias> qkv_bias_, projection_bias_, up_bias_, down_bias_;
};

}  // namespace fourfold::inline schedule::inline models
