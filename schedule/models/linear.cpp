// Forward and backward of a fully connected layer; see linear.hpp.
#include "schedule/models/linear.hpp"

namespace fourfold {

Shape weight_shape(std::int64_t k, std::int64_t n, Axis in, Axis out) {
  return {k, n, {{in}, {out}, {Axis::z}, {}, Owed::sum}};
}

Linear::Linear(Recorder& r, Label label, const Shape& weight, WeightKind kind, Bucket& bucket)
    : label_(std::move(label)), bucket_(&bucket) {
  in_ = weight.sharding.rows.contains(Axis::y) ? Axis::y : Axis::x;
  out_ = in_ == Axis::y ? Axis::x : Axis::y;
  weight_ = r.parameter(label_ + ".weight", weight, kind);
  slot_ = bucket.join(weight_);
}

Forward<Linear::Saved> Linear::forward(const Recording& in, Id input, Hiding hiding) const {
  const Id full = gathered(in, weight_, hiding);
  const Id partial = in.r.gemm(GemmForm::nn, input, full, in.stored(functions::none, label_));
  return {in.r.all_reduce(partial, in_, Hiding::never), {input, full}};
}

Id Linear::backward(const Recording& in, const Saved& saved, Id gradient) const {
  Recorder& r = in.r;
  const Id full = gathered_for_backward(in, weight_, saved.weight);
  const Id partial =
      r.gemm(GemmForm::nt, gradient, full, in.stored(functions::none, label_ + ".dinput"));
  const Id input_gradient = r.all_reduce(partial, out_, Hiding::all_reduce);
  const Id weight_gradient =
      r.gemm(GemmForm::tn, saved.input, gradient,
             {functions::none, label_ + ".dweight", Bucket::product_precision(in.options)});
  bucket_->give(r, slot_, weight_gradient, in.turn, in.options);
  return input_gradient;
}

}  // namespace fourfold
