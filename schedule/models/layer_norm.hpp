// Layer norm over columns that are cut by y: means and centred squares are owed along y. Two
// passes, because E[x^2] - E[x]^2 cancels.
#pragma once

#include <string>

#include "schedule/models/gradients.hpp"
#include "schedule/program/recorder.hpp"

namespace fourfold {

class LayerNorm {
 public:
  LayerNorm(Recorder& r, const std::string& name, std::int64_t hidden, SmallGradients& small);

  Id forward(Recorder& r, Id input);
  // Gradient of the input, and of scale and offset (2 x hidden) to the small gradients.
  Id backward(Recorder& r, Id gradient, const MicroBatch& m);

 private:
  std::string name_;
  Parameter scale_and_offset_;  // 2 x hidden, columns cut by y
  SmallGradients* small_ = nullptr;
  std::size_t slot_ = 0;
  Id input_ = -1, sum_ = -1, squares_ = -1;
};

}  // namespace fourfold
