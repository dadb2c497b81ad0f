// A layer whose bias lies as no small tensor of Fourfold's does, cut by y and in flat pieces along
// what cuts tokens, and a step that trains it. Its gradient's way, and what clipping counts of it,
// follow from that alone: it is this file.
#pragma once

#include <map>

#include "schedule/models/clipping.hpp"
#include "schedule/models/linear.hpp"
#include "schedule/models/norm.hpp"
#include "schedule/order/issue.hpp"

namespace fourfold::tests {

class BiasInPieces {
 public:
  BiasInPieces(Recorder& r, const Cuts& pieces, std::int64_t columns, SmallGradients& small)
      : bias_(r.parameter("bias", {1, columns, {{}, {Axis::y}, pieces, {}, Owed::sum}},
                          WeightKind::bias)),
        slot_(small.join(r, bias_)) {}

  Id forward(const Recording& in, Id input) const {
    return in.r.map(in.stored(functions::bias, "biased"),
                    {input, gathered(in, bias_, Hiding::never)});
  }
  void backward(const Recording& in, Id gradient) const {
    const Id own = in.r.reduce({functions::col_sum, "bias.gradient", Precision::fp32}, {gradient});
    in.gradients.small.give(in.r, slot_, own, in.turn);
  }

 private:
  Parameter bias_;
  std::size_t slot_;
};

// Words, the bias and a norm; what comes out goes back as its own gradient.
inline Schedule schedule_of(const Model& model, const Cuts& pieces, const StepOptions& options) {
  Recorder r(Precision::fp32);
  Gradients gradients(options);
  std::map<Id, Id> kept;
  r.begin_section("start", -1);
  const Id tokens =
      r.data("tokens", {all_tokens, 1, {token_cuts, {}, {}, {}, Owed::sum}}, Precision::int32);
  const Shape words = weight_shape(model.vocabulary, model.hidden, Axis::x, Axis::y);
  Bucket& bucket = gradients.bucket("table.gradients");
  const Parameter table = bucket.weight(r, "table", words, WeightKind::matrix);
  bucket.join(table);
  const BiasInPieces bias(r, pieces, model.hidden, gradients.small);
  const Norm norm(r, "norm", model, gradients.small);
  for (std::int64_t m = 0; m < options.micro_batches; ++m) {
    const Turn turn{StepPart::backward, m, m == 0, m + 1 == options.micro_batches};
    const Recording in{r, options, turn, kept, gradients};
    r.begin_turn(turn);
    r.begin_section("pass", -1);
    const Id full = gathered(in, table, Hiding::never);
    const Id rows = r.lookup(in.stored(functions::lookup, "rows"), full, tokens, words);
    const Id biased = bias.forward(in, summed_stream(in, rows, Hiding::never));
    const auto normed = norm.forward(in, biased);
    const Id gradient =
        norm.backward(in, normed.saved, r.add("both", {biased, normed.output}, Precision::fp32));
    bias.backward(in, gradient);
    bucket.give(r, 0,
                r.lookup({functions::lookup_backward, "table.gradient", Precision::fp32}, gradient,
                         tokens, words),
                turn, options);
  }
  r.begin_turn({StepPart::finish});
  r.begin_section("finish", -1);
  bucket.reduce(r, options);
  gradients.small.reduce(r);
  Clipping clipping(r);
  clipping.count(bucket);
  const Id factor = clipping.factor(gradients.small);
  bucket.update(r, factor);
  gradients.small.update(r, factor);
  return issue(r.finish(), options);
}

}  // namespace fourfold::tests
