// Forward and backward of a GPT block; see block.hpp.
#include "schedule/models/block.hpp"

namespace fourfold {

namespace {

constexpr Axis x = Axis::x;
constexpr Axis y = Axis::y;

}  // namespace

Block::Block(Recorder& r, const Model& model, std::int64_t layer, SmallGradients& small)
    : name_("block" + std::to_string(layer)),
      sequence_(model.sequence),
      small_(&small),
      bucket_(name_ + ".gradients"),
      norm1_(r, name_ + ".norm1", model.hidden, small),
      norm2_(r, name_ + ".norm2", model.hidden, small),
      qkv_(r, name_ + ".qkv", weight_shape(model.hidden, 3 * model.hidden, y, x),
           WeightKind::matrix, bucket_),
      projection_(r, name_ + ".projection", weight_shape(model.hidden, model.hidden, x, y),
                  WeightKind::residual_matrix, bucket_),
      up_(r, name_ + ".up", weight_shape(model.hidden, 4 * model.hidden, y, x), WeightKind::matrix,
          bucket_),
      down_(r, name_ + ".down", weight_shape(4 * model.hidden, model.hidden, x, y),
            WeightKind::residual_matrix, bucket_),
      qkv_bias_(bias(r, "qkv", 3 * model.hidden, x)),
      projection_bias_(bias(r, "projection", model.hidden, y)),
      up_bias_(bias(r, "up", 4 * model.hidden, x)),
      down_bias_(bias(r, "down", model.hidden, y)) {}

Block::Bias Block::bias(Recorder& r, const std::string& name, std::int64_t columns, Axis axis) {
  Bias result;
  result.parameter =
      r.parameter(name_ + "." + name + ".bias",
                  {1, columns, {{}, {axis}, {}, {}, Owed::sum}, false}, WeightKind::bias);
  result.slot = small_->join(axis, result.parameter);
  return result;
}

void Block::give_bias(Recorder& r, const Bias& bias, Id gradient, const MicroBatch& m) {
  const std::string label = r.value(bias.parameter.weight).name + ".gradient";
  small_->give(r, bias.slot, r.reduce({Function::col_sum, label, Precision::fp32}, {gradient}), m);
}

Id Block::forward(Recorder& r, Id input, const StepOptions& options, Hiding hiding) {
  const auto stored = [&](Function f, const char* label) {
    return Result{f, name_ + label, r.storage()};
  };
  input_ = input;
  const Id normed1 = norm1_.forward(r, input);
  qkv_out_ = r.map(stored(Function::bias, ".qkv"),
                   {qkv_.forward(r, normed1, options, hiding), qkv_bias_.parameter.weight});
  attention_out_ = r.attention(stored(Function::forward, ".attention"), {qkv_out_}, sequence_);
  const Id middle = r.map(stored(Function::bias_residual, ".middle"),
                          {projection_.forward(r, attention_out_, options, hiding),
                           projection_bias_.parameter.weight, input});
  const Id normed2 = norm2_.forward(r, middle);
  up_out_ = up_.forward(r, normed2, options, hiding);
  const Id activated =
      r.map(stored(Function::bias_gelu, ".gelu"), {up_out_, up_bias_.parameter.weight});
  return r.map(stored(Function::bias_residual, ".output"),
               {down_.forward(r, activated, options, hiding), down_bias_.parameter.weight, middle});
}

Id Block::backward(Recorder& r, Id gradient, const MicroBatch& m, const StepOptions& options) {
  const auto stored = [&](Function f, const char* label) {
    return Result{f, name_ + label, r.storage()};
  };
  if (options.recompute == Recompute::full) {
    forward(r, input_, options, Hiding::recompute_gather);
  }
  const Id activated = down_.backward(r, gradient, m, options);
  give_bias(r, down_bias_, gradient, m);
  const Id up = r.map(stored(Function::gelu_backward, ".dgelu"),
                      {activated, up_out_, up_bias_.parameter.weight});
  const Id normed2 = up_.backward(r, up, m, options);
  give_bias(r, up_bias_, up, m);
  const Id middle =
      r.add(name_ + ".dmiddle", {gradient, norm2_.backward(r, normed2, m)}, r.storage());
  const Id attended = projection_.backward(r, middle, m, options);
  give_bias(r, projection_bias_, middle, m);
  const Id qkv = r.attention(stored(Function::backward, ".dattention"),
                             {attended, qkv_out_, attention_out_}, sequence_);
  const Id normed1 = qkv_.backward(r, qkv, m, options);
  give_bias(r, qkv_bias_, qkv, m);
  return r.add(name_ + ".dinput", {middle, norm1_.backward(r, normed1, m)}, r.storage());
}

}  // namespace fourfold
