// Forward and backward of a GPT block; see block.hpp.
#include "schedule/models/block.hpp"

namespace fourfold {

namespace {

constexpr Axis x = Axis::x;
constexpr Axis y = Axis::y;

// Elements of the weights of a block, in the order of its layers.
std::vector<std::int64_t> weights_of(const Model& model) {
  const std::int64_t square = model.hidden * model.hidden;
  return {3 * square, square, 4 * square, 4 * square};
}

}  // namespace

Block::Block(Recorder& r, const Model& model, std::int64_t layer, Gradients& gradients)
    : layer_(layer),
      small_(&gradients.small),
      buckets_(gradients.buckets_of_block(named("gradients"), weights_of(model))),
      norm1_(r, named("norm1"), model.hidden, *small_),
      norm2_(r, named("norm2"), model.hidden, *small_),
      qkv_(r, named("qkv"), weight_shape(model.hidden, 3 * model.hidden, y, x), WeightKind::matrix,
           *buckets_[0]),
      projection_(r, named("projection"), weight_shape(model.hidden, model.hidden, x, y),
                  WeightKind::residual_matrix, *buckets_[1]),
      up_(r, named("up"), weight_shape(model.hidden, 4 * model.hidden, y, x), WeightKind::matrix,
          *buckets_[2]),
      down_(r, named("down"), weight_shape(4 * model.hidden, model.hidden, x, y),
            WeightKind::residual_matrix, *buckets_[3]),
      attention_(named(""), model),
      qkv_bias_(bias(r, "qkv", 3 * model.hidden, x)),
      projection_bias_(bias(r, "projection", model.hidden, y)),
      up_bias_(bias(r, "up", 4 * model.hidden, x)),
      down_bias_(bias(r, "down", model.hidden, y)) {}

Block::Bias Block::bias(Recorder& r, const std::string& name, std::int64_t columns, Axis axis) {
  Bias result;
  result.parameter = r.parameter(named(name) + ".bias",
                                 {1, columns, {{}, {axis}, {}, {}, Owed::sum}}, WeightKind::bias);
  result.slot = small_->join(axis, result.parameter);
  return result;
}

void Block::give_bias(const Recording& in, const Bias& bias, Id gradient) const {
  in.weight_gradient(
      {-1, [bias, gradient](const Recording& at, Id) {
         const Label label = at.r.value(bias.parameter.weight).label + ".gradient";
         const Id sum = at.r.reduce({functions::col_sum, label, Precision::fp32}, {gradient});
         at.gradients.small.give(at.r, bias.slot, sum, at.turn);
       }});
}

Forward<Block::Saved> Block::forward(const Recording& in, Id input, Hiding hiding) const {
  Recorder& r = in.r;
  Saved saved;
  saved.input = input;
  const auto normed1 = norm1_.forward(in, input);
  saved.norm1 = normed1.saved;
  const auto qkv = qkv_.forward(in, normed1.output, hiding);
  saved.qkv = qkv.saved;
  const Id biased =
      r.map(in.stored(functions::bias, named("qkv")), {qkv.output, qkv_bias_.parameter.weight});
  const auto attended = attention_.forward(in, biased);
  saved.attention = attended.saved;
  const auto projected = projection_.forward(in, attended.output, hiding);
  saved.projection = projected.saved;
  const Id middle = r.map(in.stored(functions::bias_residual, named("middle")),
                          {projected.output, projection_bias_.parameter.weight, input});
  const auto normed2 = norm2_.forward(in, middle);
  saved.norm2 = normed2.saved;
  const auto up = up_.forward(in, normed2.output, hiding);
  saved.up = up.saved;
  saved.up_out = up.output;
  const Id activated =
      r.map(in.stored(functions::bias_gelu, named("gelu")), {up.output, up_bias_.parameter.weight});
  const auto down = down_.forward(in, activated, hiding);
  saved.down = down.saved;
  const Id output = r.map(in.stored(functions::bias_residual, named("output")),
                          {down.output, down_bias_.parameter.weight, middle});
  return {output, saved};
}

Id Block::backward(const Recording& in, const Saved& kept, Id gradient) const {
  Recorder& r = in.r;
  const Saved saved = in.options.recompute == Recompute::full
                          ? forward(in, kept.input, Hiding::recompute_gather).saved
                          : kept;
  const Id activated = down_.backward(in, saved.down, gradient);
  give_bias(in, down_bias_, gradient);
  const Id up = r.map(in.stored(functions::gelu_backward, named("dgelu")),
                      {activated, saved.up_out, up_bias_.parameter.weight});
  const Id normed2 = up_.backward(in, saved.up, up);
  give_bias(in, up_bias_, up);
  const Id middle =
      r.add(named("dmiddle"), {gradient, norm2_.backward(in, saved.norm2, normed2)}, r.storage());
  const Id attended = projection_.backward(in, saved.projection, middle);
  give_bias(in, projection_bias_, middle);
  const Id qkv = attention_.backward(in, saved.attention, attended);
  const Id normed1 = qkv_.backward(in, saved.qkv, qkv);
  give_bias(in, qkv_bias_, qkv);
  return r.add(named("dinput"), {middle, norm1_.backward(in, saved.norm1, normed1)}, r.storage());
}

}  // namespace fourfold
