// A fully connected layer as the 3D parallel matrix product of the paper: input columns cut by
// `in`, output columns by `out`, the weight cut by both and once more, in flat pieces, along z.
#pragma once

#include "schedule/models/layer.hpp"

namespace fourfold::inline schedule::inline models {

class Linear {
 public:
  struct Saved {
    Id input = -1;
    Id weight = -1;      // gathered
    bool again = false;  // for the backward pass, as what is kept was not enough
  };

  // The alternate-layer swap is {in: y, out: x} against {in: x, out: y}.
  Linear(Recorder& r, Label label, const Shape& weight, WeightKind kind, Bucket& bucket);

  // O = I W, reduced along the contracted axis. The forward all-reduce is not hidden.
  Forward<Saved> forward(const Recording& in, Id input, Hiding hiding) const;
  // The same, owed along the contracted axis: products that are added are reduced together.
  Forward<Saved> product(const Recording& in, Id input, Hiding hiding) const;
  Id reduced(const Recording& in, Id partial) const;
  // dI = dO W^T, its all-reduce running beside dW = I^T dO, which goes to the bucket.
  Id backward(const Recording& in, const Saved& saved, Id gradient) const;

 private:
  Label label_;
  Axis in_ = Axis::y;
  Axis out_ = Axis::x;
  Parameter weight_;
  Bucket* bucket_ = nullptr;
  std::size_t slot_ = 0;
};

// k x n, rows cut by `in`, columns by `out`; a bucket says how its weights lie in pieces.
Shape weight_shape(Extent k, Extent n, Axis in, Axis out);

}  // namespace fourfold::inline schedule::inline models
