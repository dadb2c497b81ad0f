// Embedding, output head and loss; see vocabulary.hpp.
#include "schedule/models/vocabulary.hpp"

#include <algorithm>

namespace fourfold::inline schedule::inline models {

namespace {

Extent words_of(const Model& model, const StepOptions& options) {
  return Extent(model.vocabulary).in_units(std::max<std::int64_t>(1, options.pad_vocabulary));
}

}  // namespace

std::int64_t padded_vocabulary(const Model& model, const StepOptions& options, std::int64_t x) {
  return words_of(model, options).part({}, x) * x;
}

Vocabulary::Vocabulary(Recorder& r, const Model& model, const StepOptions& options,
                       Gradients& gradients)
    : table_shape_(weight_shape(words_of(model, options), model.hidden, Axis::x, Axis::y)),
      sequence_(model.sequence),
      tied_(model.tied()),
      counts_squares_(r.stage().first() || !tied_) {
  if (r.stage().last()) norm_.emplace(r, "final_norm", model, gradients.small);
  if (tied_ || r.stage().first()) {
    words_ = table(r, "table", gradients.bucket("vocabulary.gradients"));
  }
  if (tied_) {
    head_ = words_;
    if (r.stage().count > 1) words_.bucket->tie_ends();
  } else if (r.stage().last()) {
    head_ = table(r, "head", gradients.bucket("head.gradients"));
  }
  if (!r.stage().first() || model.position == PositionKind::rotary) return;
  positions_ =
      r.parameter("positions", {sequence_, model.hidden, {{}, {Axis::y}, {}, {}, Owed::sum}},
                  WeightKind::matrix);
  positions_slot_ = gradients.small.join(r, positions_);
}

Vocabulary::Table Vocabulary::table(Recorder& r, const std::string& name, Bucket& bucket) {
  const Table result{bucket.weight(r, name, table_shape_, WeightKind::matrix), &bucket};
  bucket.join(result.parameter);
  buckets_.push_back(&bucket);
  return result;
}

Id Vocabulary::embed(const Recording& in, Id tokens) const {
  const Id full = gathered(in, words_.parameter, Hiding::all_gather);
  Id rows = in.r.lookup(in.stored(functions::lookup, "embedding"), full, tokens, table_shape_);
  rows = summed_stream(in, rows, Hiding::never);
  if (positions_.weight == -1) return rows;
  Result embedded = in.stored(functions::add_position, "embedded");
  embedded.attributes.newest = row_of(in.options.phase).one_token;
  return in.r.map(embedded, {rows, positions_.weight});
}

Forward<Vocabulary::Saved> Vocabulary::head(const Recording& in, Id input, Id targets) const {
  Recorder& r = in.r;
  Saved saved;
  const auto normed = norm_->forward(in, input);
  saved.norm = normed.saved;
  saved.normed = normed.output;
  const PhaseRow& phase = row_of(in.options.phase);
  Id tokens = whole_tokens(in, saved.normed, Hiding::never);
  if (phase.cache == Cache::written) {
    tokens = r.apply({functions::last_of_sequence, "last", r.storage(), {sequence_}}, {tokens});
  }
  saved.table = gathered(in, head_.parameter, Hiding::all_gather);
  saved.logits = r.gemm(GemmForm::nt, tokens, saved.table, in.stored(functions::none, "logits"));
  saved.logits = r.all_reduce(saved.logits, Axis::y, Hiding::never);
  if (!phase.loss) return {-1, saved};
  saved.maxima = r.reduce({functions::row_max, "logits.max", Precision::fp32}, {saved.logits});
  saved.maxima = r.all_reduce(saved.maxima, Axis::x, Hiding::never);
  saved.sums = r.reduce({functions::row_exp_and_target, "logits.sums", Precision::fp32},
                        {saved.logits, saved.maxima, targets}, 2);
  saved.sums = r.all_reduce(saved.sums, Axis::x, Hiding::never);
  const Id loss =
      r.map({functions::softmax_loss, "token_loss", Precision::fp32}, {saved.maxima, saved.sums});
  return {loss, saved};
}

Vocabulary::HeadGradients Vocabulary::head_backward(const Recording& in, const Saved& saved,
                                                    Id targets) const {
  Recorder& r = in.r;
  const Id dlogits = r.map(in.stored(functions::softmax_backward, "dlogits"),
                           {saved.logits, saved.maxima, saved.sums, targets});
  const Id normed =
      in.left == nullptr ? whole_tokens(in, saved.normed, Hiding::all_reduce) : saved.normed;
  Id gradient =
      r.gemm(GemmForm::nn, dlogits, saved.table, in.stored(functions::none, "head.dinput"));
  gradient = summed_stream(in, gradient, Hiding::all_reduce);
  const std::string name = tied_ ? "table" : "head";
  const auto product = [dlogits, name](const Recording& at, Id whole) {
    return at.r.gemm(GemmForm::tn, dlogits, whole,
                     {functions::none, name + ".dweight", Bucket::product_precision(at.options)});
  };
  Id table = -1;
  if (in.left == nullptr && tied_) {
    table = product(in, normed);
  } else {
    in.weight_gradient({normed, [this, product](const Recording& at, Id whole) {
                          head_.bucket->give(at.r, 0, product(at, whole), at.turn, at.options);
                        }});
  }
  return {norm_->backward(in, saved.norm, gradient), table};
}

Id Vocabulary::embed_backward(const Recording& in, Id gradient, Id tokens) const {
  Recorder& r = in.r;
  if (positions_.weight != -1) {
    const Id positions = r.reduce({functions::position_sum, "positions.gradient", Precision::fp32},
                                  {gradient}, sequence_);
    in.gradients.small.give(r, positions_slot_, positions, in.turn);
  }
  return r.lookup(
      {functions::lookup_backward, "table.dlookup", Bucket::product_precision(in.options)},
      whole_tokens(in, gradient, Hiding::never), tokens, table_shape_);
}

void Vocabulary::give(const Recording& in, const std::vector<Id>& gradients) const {
  const Precision precision = Bucket::product_precision(in.options);
  const Id sum =
      gradients.size() == 1 ? gradients.front() : in.r.add("table.gradient", gradients, precision);
  words_.bucket->give(in.r, 0, sum, in.turn, in.options);
}

}  // namespace fourfold::inline schedule::inline models
