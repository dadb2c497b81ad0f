// Layer norm over columns that are cut by y: means and centred squares are owed along y. Two
// passes, because E[x^2] - E[x]^2 cancels.
#pragma once

#include "schedule/models/layer.hpp"

namespace fourfold {

class LayerNorm {
 public:
  struct Saved {
    Id input = -1, sum = -1, squares = -1;
  };

  LayerNorm(Recorder& r, Label label, std::int64_t hidden, SmallGradients& small);

  Forward<Saved> forward(const Recording& in, Id input) const;
  // Gradient of the input, and of scale and offset (2 x hidden) to the small gradients.
  Id backward(const Recording& in, const Saved& saved, Id gradient) const;

 private:
  Label label_;
  Parameter scale_and_offset_;  // 2 x hidden, columns cut by y
  std::size_t slot_ = 0;
};

}  // namespace fourfold
