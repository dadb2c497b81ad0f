// A fully connected layer as the 3D parallel matrix product of the paper: input columns cut by
// `in`, output columns by `out`, the weight cut by both and once more, in flat pieces, along z.
#pragma once

#include <string>

#include "schedule/models/gradients.hpp"
#include "schedule/program/recorder.hpp"

namespace fourfold {

// A weight cut along z: gathered before use, anew or once a step.
class GatheredWeight {
 public:
  GatheredWeight() = default;
  explicit GatheredWeight(const Parameter& parameter) : parameter_(parameter) {}
  // Gathers if it must; with WeightGather::keep only the first time.
  Id gather(Recorder& r, const StepOptions& options, Hiding hiding);
  // The gathered weight backward uses: what recompute gathered, or a gather of its own.
  Id for_backward(Recorder& r, const StepOptions& options);

 private:
  Parameter parameter_;
  Id gathered_ = -1;
};

class Linear {
 public:
  // The alternate-layer swap is {in: y, out: x} against {in: x, out: y}.
  Linear(Recorder& r, const std::string& name, const Shape& weight, WeightKind kind,
         Bucket& bucket);

  // O = I W, reduced along the contracted axis. The forward all-reduce is not hidden.
  Id forward(Recorder& r, Id input, const StepOptions& options, Hiding hiding);
  // dI = dO W^T, its all-reduce running beside dW = I^T dO, which goes to the bucket.
  Id backward(Recorder& r, Id gradient, const MicroBatch& m, const StepOptions& options);

 private:
  std::string name_;
  Axis in_ = Axis::y;
  Axis out_ = Axis::x;
  GatheredWeight weight_;
  Bucket* bucket_ = nullptr;
  std::size_t slot_ = 0;
  Id input_ = -1;
};

// k x n, rows cut by `in`, columns by `out`, pieces along z.
Shape weight_shape(std::int64_t k, std::int64_t n, Axis in, Axis out);

}  // namespace fourfold
