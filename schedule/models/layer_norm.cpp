// Forward and backward of layer norm; see layer_norm.hpp.
#include "schedule/models/layer_norm.hpp"

namespace fourfold {

LayerNorm::LayerNorm(Recorder& r, Label label, std::int64_t hidden, SmallGradients& small)
    : label_(std::move(label)) {
  scale_and_offset_ =
      r.parameter(label_, {2, hidden, {{}, {Axis::y}, {}, {}, Owed::sum}}, WeightKind::layer_norm);
  slot_ = small.join(Axis::y, scale_and_offset_);
}

Forward<LayerNorm::Saved> LayerNorm::forward(const Recording& in, Id input) const {
  Recorder& r = in.r;
  Id sum = r.reduce({functions::row_sum, label_ + ".sum", Precision::fp32}, {input});
  sum = r.all_reduce(sum, Axis::y, Hiding::never);
  Id squares =
      r.reduce({functions::row_squares, label_ + ".squares", Precision::fp32}, {input, sum});
  squares = r.all_reduce(squares, Axis::y, Hiding::never);
  const Id output = r.map(in.stored(functions::layer_norm, label_),
                          {input, sum, squares, scale_and_offset_.weight});
  return {output, {input, sum, squares}};
}

Id LayerNorm::backward(const Recording& in, const Saved& saved, Id gradient) const {
  Recorder& r = in.r;
  const std::vector<Id> known{gradient, saved.input, saved.sum, saved.squares};
  const Id weight = scale_and_offset_.weight;
  Id sums = r.reduce({functions::layer_norm_sums, label_ + ".dsums", Precision::fp32},
                     {gradient, saved.input, saved.sum, saved.squares, weight}, 2);
  sums = r.all_reduce(sums, Axis::y, Hiding::never);
  in.weight_gradient({-1, [this, known](const Recording& at, Id) {
                        const Id own = at.r.reduce({functions::layer_norm_parameters,
                                                    label_ + ".dparameters", Precision::fp32},
                                                   known, 2);
                        at.gradients.small.give(at.r, slot_, own, at.turn);
                      }});
  return r.map(in.stored(functions::layer_norm_backward, label_ + ".dinput"),
               {gradient, saved.input, saved.sum, saved.squares, weight, sums});
}

}  // namespace fourfold
