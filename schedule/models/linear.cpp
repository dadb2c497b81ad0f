// Forward and backward of a fully connected layer; see linear.hpp.
#include "schedule/models/linear.hpp"

namespace fourfold::inline schedule::inline models {

Shape weight_shape(Extent k, Extent n, Axis in, Axis out) {
  return {k, n, {{in}, {out}, {}, {}, Owed::sum}};
}

namespace {

const Function& product_function(const StepOptions& options) {
  return options.products == ProductPrecision::mxfp8 ? functions::mx_product : functions::none;
}

}  // namespace

Linear::Linear(Recorder& r, Label label, const Shape& weight, WeightKind kind, Bucket& bucket)
    : label_(std::move(label)), bucket_(&bucket) {
  in_ = weight.sharding.rows.contains(Axis::y) ? Axis::y : Axis::x;
  out_ = in_ == Axis::y ? Axis::x : Axis::y;
  weight_ = bucket.weight(r, label_ + ".weight", weight, kind);
  slot_ = bucket.join(weight_);
}

Forward<Linear::Saved> Linear::forward(const Recording& in, Id input, Hiding hiding) const {
  const auto partial = product(in, input, hiding);
  return {reduced(in, partial.output), partial.saved};
}

Id Linear::reduced(const Recording& in, Id partial) const {
  return in_ == Axis::x ? summed_stream(in, partial, Hiding::never)
                        : in.r.all_reduce(partial, in_, Hiding::never);
}

Forward<Linear::Saved> Linear::product(const Recording& in, Id input, Hiding hiding) const {
  const Id full = gathered_factor(in, weight_, hiding);
  input = narrowed(in, input);
  const Id tokens = in_ == Axis::y ? whole_tokens(in, input, Hiding::never) : input;
  return {in.r.gemm(GemmForm::nn, tokens, full, in.stored(product_function(in.options), label_)),
          {input, full}};
}

Id Linear::backward(const Recording& in, const Saved& saved, Id gradient) const {
  Recorder& r = in.r;
  const Id full = gathered_for_backward(in, weight_, saved.weight, saved.again);
  gradient = narrowed(in, gradient);
  if (in_ == Axis::x) gradient = whole_tokens(in, gradient, Hiding::never);
  // Beside the product for the input's gradient, or before the products that are left for later.
  const bool gathers = in_ == Axis::y && in.left == nullptr;
  const Id input = gathers ? whole_tokens(in, saved.input, Hiding::all_reduce) : saved.input;
  const Id partial = r.gemm(GemmForm::nt, gradient, full,
                            in.stored(product_function(in.options), label_ + ".dinput"));
  const Id input_gradient = out_ == Axis::x ? summed_stream(in, partial, Hiding::all_reduce)
                                            : r.all_reduce(partial, out_, Hiding::all_reduce);
  in.weight_gradient(
      {in_ == Axis::y ? input : -1, [this, input, gradient](const Recording& at, Id whole) {
         const Id own = at.r.gemm(GemmForm::tn, whole == -1 ? input : whole, gradient,
                                  {product_function(at.options), label_ + ".dweight",
                                   Bucket::product_precision(at.options)});
         bucket_->give(at.r, slot_, own, at.turn, at.options);
       }});
  return input_gradient;
}

}  // namespace fourfold::inline schedule::inline models
