// A layer whose bias lies as no small tensor of Fourfold's does: cut by y, and in flat pieces along
// what cuts tokens. Its gradient's way, and what clipping counts of it, follow from that alone.
#include <gtest/gtest.h>

#include <cmath>

#include "schedule/models/clipping.hpp"
#include "schedule/models/linear.hpp"
#include "schedule/models/norm.hpp"
#include "schedule/order/issue.hpp"
#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

constexpr Axis x = Axis::x, y = Axis::y, z = Axis::z;

class BiasInPieces {
 public:
  BiasInPieces(Recorder& r, const Cuts& pieces, std::int64_t columns, SmallGradients& small)
      : bias_(
            r.parameter("bias", {1, columns, {{}, {y}, pieces, {}, Owed::sum}}, WeightKind::bias)),
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
Schedule schedule_of(const Model& model, const Cuts& pieces, const StepOptions& options) {
  Recorder r(Precision::fp32);
  Gradients gradients(options);
  std::map<Id, Id> kept;
  r.begin_section("start", -1);
  const Id tokens =
      r.data("tokens", {all_tokens, 1, {token_cuts, {}, {}, {}, Owed::sum}}, Precision::int32);
  const Shape words = weight_shape(model.vocabulary, model.hidden, x, y);
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

struct Trained {
  Trained(const Cuts& pieces, const ProcessGrid& grid)
      : run(tiny_model(), schedule_of(tiny_model(), pieces, options()), grid, tiny_seed) {
    AdamW optimizer;
    optimizer.learning_rate = 3e-3;
    optimizer.clip_norm = 0.5;
    roughen(run);
    for (std::uint64_t step = 0; step < 3; ++step) {
      norms.push_back(run.step(random_batch(tiny_model(), 8, step), optimizer).gradient_norm);
    }
  }
  static StepOptions options() {
    StepOptions options;
    options.precision = Precision::fp32;
    options.micro_batches = 2;
    return options;
  }

  Lockstep<double> run;
  std::vector<double> norms;
};

TEST(NewSharding, TrainsWhatOneDeviceTrains) {
  const Trained alone({}, ProcessGrid());
  for (const Cuts& pieces : {Cuts{}, Cuts{z}, Cuts{Axis::data}, Cuts{z, Axis::data}}) {
    for (const ProcessGrid& grid : {ProcessGrid(2, 2, 2, 2), ProcessGrid(1, 3, 4, 1),
                                    ProcessGrid(2, 1, 1, 4), ProcessGrid(4, 1, 2, 1)}) {
      SCOPED_TRACE(pieces.str() + " on " + grid.str());
      const Trained trained(pieces, grid);
      for (std::size_t step = 0; step < alone.norms.size(); ++step) {
        EXPECT_NEAR(trained.norms[step], alone.norms[step], 1e-10);
      }
      for (const std::string& parameter : alone.run.parameters()) {
        EXPECT_LT(largest_difference(trained.run.weight(parameter), alone.run.weight(parameter)),
                  1e-10)
            << parameter;
      }
    }
  }
}

// Each element once: the norm is that of the whole gradients.
TEST(NewSharding, IsClippedByTheNormOfWholeGradients) {
  const Trained trained({z}, ProcessGrid(2, 2, 2, 2));
  double squares = 0.0;
  for (const std::string& parameter : trained.run.parameters()) {
    for (double one : trained.run.gradient(parameter).values) squares += one * one;
  }
  EXPECT_GT(trained.norms.back(), 0.5) << "clipped";
  EXPECT_NEAR(trained.norms.back(), std::sqrt(squares), 1e-10);
}

// By what cuts the table, the bias and the norm; the last two end together.
TEST(NewSharding, OwesItsSquaresAlongWhatCutsIt) {
  const Schedule schedule = schedule_of(tiny_model(), {z}, Trained::options());
  const Program& program = schedule.program;
  std::map<std::string, AxisSet> owed;
  std::size_t sums = 0;
  for (const Op& op : program.ops) {
    if (op.is(functions::norm_factor)) sums = op.inputs.size();
    if (!op.is(functions::square_sum)) continue;
    const Value& squares = program[op.outputs[0]];
    owed[squares.label.full()] = squares.shape.sharding.partial;
  }
  EXPECT_EQ(owed, (std::map<std::string, AxisSet>{{"small.y.norm", {y}},
                                                  {"small.y_z.norm", {y, z}},
                                                  {"table.gradients.norm", {x, y, z}}}));
  EXPECT_EQ(sums, 2U);
}

}  // namespace
}  // namespace fourfold::tests
