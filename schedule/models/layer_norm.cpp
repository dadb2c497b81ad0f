// Forward and backward of layer norm; see layer_norm.hpp.
#include "schedule/models/layer_norm.hpp"

namespace fourfold {

LayerNorm::LayerNorm(Recorder& r, const std::string& name, std::int64_t hidden,
                     SmallGradients& small)
    : name_(name), small_(&small) {
  scale_and_offset_ = r.parameter(name, {2, hidden, {{}, {Axis::y}, {}, {}, Owed::sum}, false},
                                  WeightKind::layer_norm);
  slot_ = small.join(Axis::y, scale_and_offset_);
}

Id LayerNorm::forward(Recorder& r, Id input) {
  input_ = input;
  sum_ = r.reduce({Function::row_sum, name_ + ".sum", Precision::fp32}, {input});
  sum_ = r.all_reduce(sum_, Axis::y, Hiding::never);
  squares_ = r.reduce({Function::row_squares, name_ + ".squares", Precision::fp32}, {input, sum_});
  squares_ = r.all_reduce(squares_, Axis::y, Hiding::never);
  return r.map({Function::layer_norm, name_, r.storage()},
               {input, sum_, squares_, scale_and_offset_.weight});
}

Id LayerNorm::backward(Recorder& r, Id gradient, const MicroBatch& m) {
  const std::vector<Id> known{gradient, input_, sum_, squares_};
  std::vector<Id> operands = known;
  operands.push_back(scale_and_offset_.weight);
  Id sums = r.reduce({Function::layer_norm_sums, name_ + ".dsums", Precision::fp32}, operands, 2);
  sums = r.all_reduce(sums, Axis::y, Hiding::never);
  const Id own = r.reduce(
      {Function::layer_norm_parameters, name_ + ".dparameters", Precision::fp32}, known, 2);
  small_->give(r, slot_, own, m);
  operands.push_back(sums);
  return r.map({Function::layer_norm_backward, name_ + ".dinput", r.storage()}, operands);
}

}  // namespace fourfold
