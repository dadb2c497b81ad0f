// A GPT block: layer norm, QKV, causal attention, projection, residual, layer norm, MLP up, GELU,
// MLP down, residual; forward, and backward of all of it.
#pragma once

#include <string>

#include "schedule/models/layer_norm.hpp"
#include "schedule/models/linear.hpp"
#include "schedule/models/model.hpp"

namespace fourfold {

class Block {
 public:
  Block(Recorder& r, const Model& model, std::int64_t layer, SmallGradients& small);

  // tokens x hidden, columns cut by y, to the same. `hiding` is that of the weight gathers.
  Id forward(Recorder& r, Id input, const StepOptions& options, Hiding hiding);
  // Repeats forward first if activations were not kept.
  Id backward(Recorder& r, Id gradient, const MicroBatch& m, const StepOptions& options);
  Bucket& bucket() { return bucket_; }

  Block(const Block&) = delete;  // the layers point into the bucket
  Block& operator=(const Block&) = delete;

 private:
  struct Bias {
    Parameter parameter;
    std::size_t slot = 0;
  };
  Bias bias(Recorder& r, const std::string& name, std::int64_t columns, Axis axis);
  void give_bias(Recorder& r, const Bias& bias, Id gradient, const MicroBatch& m);

  std::string name_;
  std::int64_t sequence_ = 0;
  SmallGradients* small_;
  Bucket bucket_;
  LayerNorm norm1_, norm2_;
  Linear qkv_, projection_, up_, down_;
  Bias qkv_bias_, projection_bias_, up_bias_, down_bias_;
  Id input_ = -1, qkv_out_ = -1, attention_out_ = -1, up_out_ = -1;
};

}  // namespace fourfold
