// Forward and backward of a fully connected layer; see linear.hpp.
#include "schedule/models/linear.hpp"

namespace fourfold {

Shape weight_shape(std::int64_t k, std::int64_t n, Axis in, Axis out) {
  return {k, n, {{in}, {out}, {Axis::z}, {}, Owed::sum}, false};
}

Id GatheredWeight::gather(Recorder& r, const StepOptions& options, Hiding hiding) {
  if (gathered_ == -1 || options.weight_gather == WeightGather::per_micro_batch) {
    gathered_ = r.all_gather(parameter_.weight, Axis::z, hiding);
  }
  return gathered_;
}

Id GatheredWeight::for_backward(Recorder& r, const StepOptions& options) {
  if (options.recompute == Recompute::full) return gathered_;
  return gather(r, options, Hiding::all_gather);
}

Linear::Linear(Recorder& r, const std::string& name, const Shape& weight, WeightKind kind,
               Bucket& bucket)
    : name_(name), bucket_(&bucket) {
  in_ = weight.sharding.rows.contains(Axis::y) ? Axis::y : Axis::x;
  out_ = in_ == Axis::y ? Axis::x : Axis::y;
  const Parameter parameter = r.parameter(name + ".weight", weight, kind);
  weight_ = GatheredWeight(parameter);
  slot_ = bucket.join(parameter);
}

Id Linear::forward(Recorder& r, Id input, const StepOptions& options, Hiding hiding) {
  input_ = input;
  const Id full = weight_.gather(r, options, hiding);
  const Id partial = r.gemm(GemmForm::nn, input, full, {Function::none, name_, r.storage()});
  return r.all_reduce(partial, in_, Hiding::never);
}

Id Linear::backward(Recorder& r, Id gradient, const MicroBatch& m, const StepOptions& options) {
  const Id full = weight_.for_backward(r, options);
  const Id partial =
      r.gemm(GemmForm::nt, gradient, full, {Function::none, name_ + ".dinput", r.storage()});
  const Id input_gradient = r.all_reduce(partial, out_, Hiding::all_reduce);
  const Id weight_gradient =
      r.gemm(GemmForm::tn, input_, gradient,
             {Function::none, name_ + ".dweight", Bucket::product_precision(options)});
  bucket_->give(r, slot_, weight_gradient, m, options);
  return input_gradient;
}

}  // namespace fourfold
