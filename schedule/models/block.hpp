// A transformer block: norm, QKV, causal attention, projection, residual, norm, MLP up, GELU or
// SwiGLU, MLP down, residual; forward, and backward of all of it. The model says which norm, and
// whether it stands before or after, which MLP, whether products have biases, whether queries and
// keys have norms, and whether the MLP reads what attention made or what it read.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/models/attention.hpp"
#include "schedule/models/layer_pattern.hpp"
#include "schedule/models/linear.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/norm.hpp"
#include "schedule/models/query_key_norm.hpp"

namespace fourfold::inline schedule::inline models {

class Block {
 public:
  struct Saved {
    Id input = -1;
    Id middle = -1;  // what the MLP's norm reads
    Id up_out = -1;  // what the activation reads: of GELU before its bias
    Norm::Saved norm1, norm2, after1, after2;
    QueryKeyNorm::Saved query_key;
    Attention::Saved attention;
    Linear::Saved qkv, projection, up, down;
  };

  Block(Recorder& r, const Model& model, const LayerKind& kind, std::int64_t layer,
        Gradients& gradients);

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
  // The same of the product's norm, if there is one.
  Id joined(const Recording& in, const std::string& name, const std::optional<Bias>& bias,
            const std::pair<Id, Id>& product_and_residual, const std::optional<Norm>& after,
            Norm::Saved& saved) const;
  // A value's norm, and a gradient's way back through it; as they are where there is none.
  static Id normed(const Recording& in, const std::optional<Norm>& norm, Id input,
                   Norm::Saved& saved);
  static Id before_norm(const Recording& in, const std::optional<Norm>& norm,
                        const Norm::Saved& saved, Id gradient);
  Forward<Saved> forward_parallel(const Recording& in, Saved saved, Id attended,
                                  Hiding hiding) const;
  // The MLP from its norm to its activation, and a norm, as their products read them, once more.
  void repeat_mlp(const Recording& in, Saved& saved) const;
  static void repeat_norm(const Recording& in, const std::optional<Norm>& norm,
                          const Norm::Saved& of_norm, Linear::Saved& product);
  Id activated(const Recording& in, Id up) const;
  Id activated_backward(const Recording& in, Id up, Id gradient) const;

  std::int64_t layer_ = 0;
  bool has_biases_, parallel_, swiglu_;
  SmallGradients* small_;
  std::vector<Bucket*> buckets_;
  std::optional<Norm> norm1_, norm2_;
  Linear qkv_, projection_, up_, down_;
  Attention attention_;
  std::optional<Bias> qkv_bias_, projection_bias_, up_bias_, down_bias_;
  std::optional<Norm> after1_, after2_;
  std::optional<QueryKeyNorm> query_key_norm_;
};

}  // namespace fourfold::inline schedule::inline models
