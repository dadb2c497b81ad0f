// Embedding, output head and loss; see vocabulary.hpp.
#include "schedule/models/vocabulary.hpp"

namespace fourfold {

Vocabulary::Vocabulary(Recorder& r, const Model& model, SmallGradients& small)
    : table_shape_(weight_shape(model.vocabulary, model.hidden, Axis::x, Axis::y)),
      sequence_(model.sequence),
      small_(&small),
      norm_(r, "final_norm", model.hidden, small) {
  const Parameter table = r.parameter("table", table_shape_, WeightKind::matrix);
  table_ = GatheredWeight(table);
  bucket_.join(table);
  positions_ =
      r.parameter("positions", {sequence_, model.hidden, {{}, {Axis::y}, {}, {}, Owed::sum}, false},
                  WeightKind::matrix);
  positions_slot_ = small.join(Axis::y, positions_);
}

Id Vocabulary::embed(Recorder& r, Id tokens, const StepOptions& options) {
  const Id full = table_.gather(r, options, Hiding::all_gather);
  Id rows = r.lookup({Function::forward, "embedding", r.storage()}, full, tokens, table_shape_);
  rows = r.all_reduce(rows, Axis::x, Hiding::never);
  return r.map({Function::add_position, "embedded", r.storage()}, {rows, positions_.weight});
}

Id Vocabulary::head(Recorder& r, Id input, Id targets, const StepOptions& options) {
  normed_ = norm_.forward(r, input);
  gathered_ = table_.gather(r, options, Hiding::all_gather);
  logits_ = r.gemm(GemmForm::nt, normed_, gathered_, {Function::none, "logits", r.storage()});
  logits_ = r.all_reduce(logits_, Axis::y, Hiding::never);
  maxima_ = r.reduce({Function::row_max, "logits.max", Precision::fp32}, {logits_});
  maxima_ = r.all_reduce(maxima_, Axis::x, Hiding::never);
  sums_ = r.reduce({Function::row_exp_and_target, "logits.sums", Precision::fp32},
                   {logits_, maxima_, targets}, 2);
  sums_ = r.all_reduce(sums_, Axis::x, Hiding::never);
  return r.map({Function::softmax_loss, "token_loss", Precision::fp32}, {maxima_, sums_});
}

Id Vocabulary::head_backward(Recorder& r, Id targets, const MicroBatch& m,
                             const StepOptions& options) {
  const Id dlogits = r.map({Function::softmax_backward, "dlogits", r.storage()},
                           {logits_, maxima_, sums_, targets});
  Id gradient =
      r.gemm(GemmForm::nn, dlogits, gathered_, {Function::none, "head.dinput", r.storage()});
  gradient = r.all_reduce(gradient, Axis::x, Hiding::all_reduce);
  table_gradient_ = r.gemm(GemmForm::tn, dlogits, normed_,
                           {Function::none, "table.dweight", Bucket::product_precision(options)});
  return norm_.backward(r, gradient, m);
}

void Vocabulary::embed_backward(Recorder& r, Id gradient, Id tokens, const MicroBatch& m,
                                const StepOptions& options) {
  const Id positions = r.reduce({Function::position_sum, "positions.gradient", Precision::fp32},
                                {gradient}, sequence_);
  small_->give(r, positions_slot_, positions, m);
  const Precision precision = Bucket::product_precision(options);
  const Id looked_up =
      r.lookup({Function::backward, "table.dlookup", precision}, gradient, tokens, table_shape_);
  const Id both = r.add("table.gradient", {table_gradient_, looked_up}, precision);
  bucket_.give(r, 0, both, m, options);
}

}  // namespace fourfold
