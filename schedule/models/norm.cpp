// Forward and backward of both norms; see norm.hpp.
#include "schedule/models/norm.hpp"

namespace fourfold::inline schedule::inline models {

const Norm::Kind& Norm::kind(NormKind norm) {
  using namespace functions;
  static const Kind layer{layer_norm, layer_norm_sums, layer_norm_parameters, layer_norm_backward,
                          2};
  static const Kind rms{rms_norm, rms_norm_sums, rms_norm_parameters, rms_norm_backward, 1};
  return norm == NormKind::layer ? layer : rms;
}

Norm::Norm(Recorder& r, Label label, const Model& model, SmallGradients& small)
    : kind_(&kind(model.norm)), label_(std::move(label)) {
  parameters_ = r.parameter(label_, {kind_->rows, model.hidden, {{}, {Axis::y}, {}, {}, Owed::sum}},
                            WeightKind::norm);
  slot_ = small.join(r, parameters_);
}

std::vector<Id> Norm::with_statistics(const std::vector<Id>& before, const Saved& saved,
                                      const std::vector<Id>& behind) {
  std::vector<Id> all = before;
  for (Id id : {saved.input, saved.sum, saved.squares}) {
    if (id != -1) all.push_back(id);
  }
  all.insert(all.end(), behind.begin(), behind.end());
  return all;
}

Forward<Norm::Saved> Norm::forward(const Recording& in, Id input) const {
  Recorder& r = in.r;
  Saved saved{input, -1, -1};
  if (centred()) {
    saved.sum = r.reduce({functions::row_sum, label_ + ".sum", Precision::fp32}, {input});
    saved.sum = r.all_reduce(saved.sum, Axis::y, Hiding::never);
  }
  saved.squares = r.reduce({functions::row_squares, label_ + ".squares", Precision::fp32},
                           with_statistics({}, saved, {}));
  saved.squares = r.all_reduce(saved.squares, Axis::y, Hiding::never);
  return {again(in, saved), saved};
}

Id Norm::again(const Recording& in, const Saved& saved) const {
  return in.r.map(in.stored(kind_->forward, label_),
                  with_statistics({}, saved, {parameters_.weight}));
}

Id Norm::backward(const Recording& in, const Saved& saved, Id gradient) const {
  Recorder& r = in.r;
  const Id weight = parameters_.weight;
  Id sums = r.reduce({kind_->sums, label_ + ".dsums", Precision::fp32},
                     with_statistics({gradient}, saved, {weight}), kind_->rows);
  sums = r.all_reduce(sums, Axis::y, Hiding::never);
  in.weight_gradient({-1, [this, saved, gradient](const Recording& at, Id) {
                        const Id own = at.r.reduce(
                            {kind_->parameters, label_ + ".dparameters", Precision::fp32},
                            with_statistics({gradient}, saved, {}), kind_->rows);
                        at.gradients.small.give(at.r, slot_, own, at.turn);
                      }});
  return r.map(in.stored(kind_->backward, label_ + ".dinput"),
               with_statistics({gradient}, saved, {weight, sums}));
}

}  // namespace fourfold::inline schedule::inline models
