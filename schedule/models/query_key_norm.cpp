// Forward and backward of norms of queries and keys; see query_key_norm.hpp.
#include "schedule/models/query_key_norm.hpp"

namespace fourfold::inline schedule::inline models {

QueryKeyNorm::QueryKeyNorm(Recorder& r, Label label, const Model& model, SmallGradients& small)
    : label_(std::move(label)),
      attributes_{0, model.group(), model.heads, 0},
      by_head_(model.query_key_norm == QueryKeyNormKind::heads) {
  const Shape qkv{all_tokens, model.qkv_columns(), {{}, {Axis::x}, {}, {}, Owed::sum}};
  const Shape shape = by_head_ ? functions::scales_of_heads(qkv, attributes_)
                               : functions::scales_of_all(qkv, attributes_);
  scales_ = r.parameter(label_, shape, WeightKind::norm);
  slot_ = small.join(r, scales_);
}

Id QueryKeyNorm::sums(const Recording& in, const Function& function, const char* name,
                      const std::vector<Id>& operands) const {
  const Result of{function, label_ + name, Precision::fp32, attributes_};
  return in.r.all_reduce(in.r.reduce(of, operands, 2), Axis::x, Hiding::never);
}

Forward<QueryKeyNorm::Saved> QueryKeyNorm::forward(const Recording& in, Id qkv) const {
  Saved saved{qkv, -1};
  std::vector<Id> operands{qkv};
  if (!by_head_) {
    saved.squares = sums(in, functions::qk_squares, ".squares", {qkv});
    operands.push_back(saved.squares);
  }
  operands.push_back(scales_.weight);
  const Function& function = by_head_ ? functions::head_norm : functions::qk_norm;
  return {in.r.map(result(in, function, ""), operands), saved};
}

Id QueryKeyNorm::backward(const Recording& in, const Saved& saved, Id gradient) const {
  std::vector<Id> known{gradient, saved.qkv};
  if (!by_head_) known.push_back(saved.squares);
  in.weight_gradient({-1, [this, known](const Recording& at, Id) {
                        const Function& function = by_head_ ? functions::head_norm_parameters
                                                            : functions::qk_norm_parameters;
                        const Id own = at.r.reduce(
                            {function, label_ + ".dscales", Precision::fp32, attributes_}, known);
                        at.gradients.small.give(at.r, slot_, own, at.turn);
                      }});
  std::vector<Id> operands = known;
  operands.push_back(scales_.weight);
  if (by_head_) return in.r.map(result(in, functions::head_norm_backward, ".dqkv"), operands);
  operands.push_back(sums(in, functions::qk_norm_sums, ".dsums", operands));
  return in.r.map(result(in, functions::qk_norm_backward, ".dqkv"), operands);
}

}  // namespace fourfold::inline schedule::inline models
