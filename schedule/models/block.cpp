// Forward and backward of a transformer block; see block.hpp.
#include "schedule/models/block.hpp"

#include <array>

namespace fourfold::inline schedule::inline models {

namespace {

constexpr Axis x = Axis::x;
constexpr Axis y = Axis::y;

// Of the four products, in their order.
std::array<Shape, 4> weight_shapes(const Model& model) {
  return {weight_shape(model.hidden, model.qkv_columns(), y, x),
          weight_shape(model.attention_columns(), model.hidden, x, y),
          weight_shape(model.hidden, model.up_columns(), y, x),
          weight_shape(model.width(), model.hidden, x, y)};
}

std::optional<Norm> norm_if(bool there, Recorder& r, const Label& label, const Model& model,
                            SmallGradients& small) {
  if (!there) return std::nullopt;
  return Norm(r, label, model, small);
}

}  // namespace

Block::Block(Recorder& r, const Model& model, const LayerKind& kind, std::int64_t layer,
             Gradients& gradients)
    : layer_(layer),
      has_biases_(model.biases),
      parallel_(model.residual == ResidualKind::parallel),
      swiglu_(model.mlp == MlpKind::swiglu),
      small_(&gradients.small),
      buckets_(gradients.buckets_of_block(named("gradients"), weight_shapes(model))),
      norm1_(norm_if(model.norm_place != NormPlace::after, r, named("norm1"), model, *small_)),
      norm2_(norm_if(model.norm_place != NormPlace::after, r, named("norm2"), model, *small_)),
      qkv_(r, named("qkv"), weight_shapes(model)[0], WeightKind::matrix, *buckets_[0]),
      projection_(r, named("projection"), weight_shapes(model)[1], WeightKind::residual_matrix,
                  *buckets_[1]),
      up_(r, named("up"), weight_shapes(model)[2], WeightKind::matrix, *buckets_[2]),
      down_(r, named("down"), weight_shapes(model)[3], WeightKind::residual_matrix, *buckets_[3]),
      attention_(named(""), model, kind.window),
      qkv_bias_(bias(r, "qkv", model.qkv_columns(), x)),
      projection_bias_(bias(r, "projection", model.hidden, y)),
      up_bias_(bias(r, "up", model.up_columns(), x)),
      down_bias_(bias(r, "down", model.hidden, y)),
      after1_(norm_if(model.norm_place != NormPlace::before, r, named("after1"), model, *small_)),
      after2_(norm_if(model.norm_place != NormPlace::before, r, named("after2"), model, *small_)) {
  if (model.query_key_norm == QueryKeyNormKind::none) return;
  query_key_norm_.emplace(r, named("query_key_norm"), model, *small_);
}

std::optional<Block::Bias> Block::bias(Recorder& r, const std::string& name, std::int64_t columns,
                                       Axis axis) {
  if (!has_biases_) return std::nullopt;
  Bias result;
  result.parameter = r.parameter(named(name) + ".bias",
                                 {1, columns, {{}, {axis}, {}, {}, Owed::sum}}, WeightKind::bias);
  result.slot = small_->join(r, result.parameter);
  return result;
}

void Block::give_bias(const Recording& in, const std::optional<Bias>& bias, Id gradient) const {
  if (!bias) return;
  in.weight_gradient(
      {-1, [own = *bias, gradient](const Recording& at, Id) {
         const Label label = at.r.value(own.parameter.weight).label + ".gradient";
         const Id sum = at.r.reduce({functions::col_sum, label, Precision::fp32}, {gradient});
         at.gradients.small.give(at.r, own.slot, sum, at.turn);
       }});
}

Id Block::biased(const Recording& in, const std::string& name, const std::optional<Bias>& bias,
                 Id product) const {
  if (!bias) return product;
  return in.r.map(in.stored(functions::bias, named(name)), {product, bias->parameter.weight});
}

Id Block::with_residual(const Recording& in, const std::string& name,
                        const std::optional<Bias>& bias,
                        const std::pair<Id, Id>& product_and_residual) const {
  const auto [product, residual] = product_and_residual;
  if (!bias) return in.r.add(named(name), {product, residual}, in.r.storage());
  return in.r.map(in.stored(functions::bias_residual, named(name)),
                  {product, bias->parameter.weight, residual});
}

Id Block::joined(const Recording& in, const std::string& name, const std::optional<Bias>& bias,
                 const std::pair<Id, Id>& product_and_residual, const std::optional<Norm>& after,
                 Norm::Saved& saved) const {
  if (!after) return with_residual(in, name, bias, product_and_residual);
  const auto [product, residual] = product_and_residual;
  const Id own = normed(in, after, biased(in, name, bias, product), saved);
  return in.r.add(named(name), {own, residual}, in.r.storage());
}

Id Block::normed(const Recording& in, const std::optional<Norm>& norm, Id input,
                 Norm::Saved& saved) {
  if (!norm) return input;
  const auto result = norm->forward(in, input);
  saved = result.saved;
  return result.output;
}

Id Block::before_norm(const Recording& in, const std::optional<Norm>& norm,
                      const Norm::Saved& saved, Id gradient) {
  return norm ? norm->backward(in, saved, gradient) : gradient;
}

// GELU is one function with its bias; SwiGLU reads what its bias has been added to.
Id Block::activated(const Recording& in, Id up) const {
  if (swiglu_) return in.r.map(in.stored(functions::swiglu, named("swiglu")), {up});
  return in.r.map(in.stored(functions::bias_gelu, named("gelu")),
                  up_bias_ ? std::vector<Id>{up, up_bias_->parameter.weight} : std::vector<Id>{up});
}

Id Block::activated_backward(const Recording& in, Id up, Id gradient) const {
  if (swiglu_) {
    return in.r.map(in.stored(functions::swiglu_backward, named("dswiglu")), {gradient, up});
  }
  return in.r.map(in.stored(functions::gelu_backward, named("dgelu")),
                  up_bias_ ? std::vector<Id>{gradient, up, up_bias_->parameter.weight}
                           : std::vector<Id>{gradient, up});
}

Forward<Block::Saved> Block::forward(const Recording& in, Id input, Hiding hiding) const {
  Saved saved;
  saved.input = input;
  const auto qkv = qkv_.forward(in, normed(in, norm1_, input, saved.norm1), hiding);
  saved.qkv = qkv.saved;
  Id heads = biased(in, "qkv", qkv_bias_, qkv.output);
  if (query_key_norm_) {
    const auto result = query_key_norm_->forward(in, heads);
    saved.query_key = result.saved;
    heads = result.output;
  }
  const auto attended = attention_.forward(in, heads);
  saved.attention = attended.saved;
  if (parallel_) return forward_parallel(in, saved, attended.output, hiding);
  const auto projected = projection_.forward(in, attended.output, hiding);
  saved.projection = projected.saved;
  const Id middle =
      joined(in, "middle", projection_bias_, {projected.output, input}, after1_, saved.after1);
  saved.middle = middle;
  const auto up = up_.forward(in, normed(in, norm2_, middle, saved.norm2), hiding);
  saved.up = up.saved;
  saved.up_out = swiglu_ ? biased(in, "up", up_bias_, up.output) : up.output;
  const auto down = down_.forward(in, activated(in, saved.up_out), hiding);
  saved.down = down.saved;
  const Id output = joined(in, "output", down_bias_, {down.output, middle}, after2_, saved.after2);
  return {output, saved};
}

// What attention and MLP leave is added before it is reduced: one reduction for both.
Forward<Block::Saved> Block::forward_parallel(const Recording& in, Saved saved, Id attended,
                                              Hiding hiding) const {
  saved.middle = saved.input;
  const auto projected = projection_.product(in, attended, hiding);
  saved.projection = projected.saved;
  const auto up = up_.forward(in, normed(in, norm2_, saved.input, saved.norm2), hiding);
  saved.up = up.saved;
  saved.up_out = swiglu_ ? biased(in, "up", up_bias_, up.output) : up.output;
  const auto down = down_.product(in, activated(in, saved.up_out), hiding);
  saved.down = down.saved;
  const Id both = in.r.add(named("both"), {projected.output, down.output}, in.r.storage());
  const Id middle =
      with_residual(in, "middle", projection_bias_, {down_.reduced(in, both), saved.input});
  return {biased(in, "output", down_bias_, middle), saved};
}

void Block::repeat_mlp(const Recording& in, Saved& saved) const {
  const Id read = norm2_ ? norm2_->again(in, saved.norm2) : saved.middle;
  const auto up = up_.forward(in, read, Hiding::recompute_gather);
  saved.up = up.saved;
  saved.up.again = true;
  saved.up_out = swiglu_ ? biased(in, "up", up_bias_, up.output) : up.output;
  saved.down.input = narrowed(in, activated(in, saved.up_out));
}

void Block::repeat_norm(const Recording& in, const std::optional<Norm>& norm,
                        const Norm::Saved& of_norm, Linear::Saved& product) {
  if (norm) product.input = narrowed(in, norm->again(in, of_norm));
}

Id Block::backward(const Recording& in, const Saved& kept, Id gradient) const {
  Recorder& r = in.r;
  const Recompute repeats = in.options.recompute;
  Saved saved =
      repeats == Recompute::full ? forward(in, kept.input, Hiding::recompute_gather).saved : kept;
  if (repeats == Recompute::mlp) repeat_mlp(in, saved);
  const Id of_down = before_norm(in, after2_, saved.after2, gradient);
  const Id of_activation = down_.backward(in, saved.down, of_down);
  give_bias(in, down_bias_, of_down);
  const Id up = activated_backward(in, saved.up_out, of_activation);
  if (repeats == Recompute::norms) repeat_norm(in, norm2_, saved.norm2, saved.up);
  const Id normed2 = up_.backward(in, saved.up, up);
  give_bias(in, up_bias_, up);
  const Id middle = r.add(named("dmiddle"),
                          {gradient, before_norm(in, norm2_, saved.norm2, normed2)}, r.storage());
  const Id of_projected = before_norm(in, after1_, saved.after1, parallel_ ? gradient : middle);
  const Id attended = projection_.backward(in, saved.projection, of_projected);
  give_bias(in, projection_bias_, of_projected);
  Id qkv = attention_.backward(in, saved.attention, attended);
  if (query_key_norm_) qkv = query_key_norm_->backward(in, saved.query_key, qkv);
  if (repeats == Recompute::norms) repeat_norm(in, norm1_, saved.norm1, saved.qkv);
  const Id normed1 = qkv_.backward(in, saved.qkv, qkv);
  give_bias(in, qkv_bias_, qkv);
  return r.add(named("dinput"), {middle, before_norm(in, norm1_, saved.norm1, normed1)},
               r.storage());
}

}  // namespace fourfold::inline schedule::inline models
