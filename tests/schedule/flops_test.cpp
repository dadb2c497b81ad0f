// Executed flops, summed over ranks, equal the analytic count of the step; model flops and
// parameters are those of the counted step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/models/fit.hpp"
#include "schedule/models/layer_pattern.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/models/parameter_count.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

double tokens_of(const Model& model, std::int64_t sequences) {
  return number(sequences * model.sequence);
}

// Per token and layer 12 h^2 multiply-adds in QKV (3), projection (1), up (4) and down (4), in
// forward, recompute, and twice in backward.
double layer_flops(const Model& m, std::int64_t sequences, Recompute recompute) {
  const double passes = recompute == Recompute::full ? 4 : 3;
  return passes * 2 * 12 * number(m.layers) * number(m.hidden) * number(m.hidden) *
         tokens_of(m, sequences);
}

// V h multiply-adds a token, forward and twice in backward: the head is never recomputed.
double head_flops(const Model& m, std::int64_t sequences) {
  return 3 * 2 * number(m.vocabulary) * number(m.hidden) * tokens_of(m, sequences);
}

// Scores and weighted values take 4 h flops for each of the (s + 1) / 2 positions a token sees on
// average; backward takes 5/2 of it. QKV's output is cut by x alone, so that every rank along y
// repeats the same attention: `replicas` counts them.
double attention_flops(const Model& m, std::int64_t sequences, Recompute recompute,
                       std::int64_t replicas) {
  const double passes = (recompute == Recompute::full ? 2 : 1) + 2.5;
  return passes * 2 * number(m.sequence + 1) * number(m.hidden) * number(m.layers) *
         tokens_of(m, sequences) * number(replicas);
}

// Tokens that one looks at, itself included, in the mean of all layers.
double seen(const Model& m) {
  double sum = 0.0;
  for (const LayerKind& kind : layer_kinds(m, 0, m.layers)) {
    for (std::int64_t t = 1; t <= m.sequence; ++t) {
      sum += number(kind.window == 0 ? t : std::min(t, kind.window));
    }
  }
  return sum / number(m.layers * m.sequence);
}

TEST(ExecutedFlops, SummedOverRanksAreTheAnalyticCount) {
  std::mt19937 random(11);
  for (std::int64_t x : {1, 2, 4}) {
    for (std::int64_t y : {1, 3, 4}) {
      for (std::int64_t z : {1, 2, 5}) {
        for (std::int64_t data : {1, 3}) {
          const ProcessGrid grid(x, y, z, data);
          const Model model = small_model(1 + static_cast<std::int64_t>(random() % 4));
          const StepOptions options = random_options(random, 1 + static_cast<int>(random() % 4));
          const std::int64_t sequences = 12 * z * data;

          const Counts counts = counted(model, options, grid, sequences).counts;

          SCOPED_TRACE("grid " + grid.str() + " " + described(options));
          const double ranks = number(grid.size());
          const double gemm =
              layer_flops(model, sequences, options.recompute) + head_flops(model, sequences);
          const double attention = attention_flops(model, sequences, options.recompute, y);
          EXPECT_NEAR(counts.gemm.value * ranks, gemm, 1e-12 * gemm);
          EXPECT_NEAR(counts.functions.value * ranks, attention, 1e-12 * attention);
          EXPECT_EQ(counts.executed(), counts.gemm + counts.functions);
        }
      }
    }
  }
}

// Tokens of a sequence that fit a layer's window, in all layers.
double windows(const Model& m) {
  double sum = 0.0;
  for (const LayerKind& kind : layer_kinds(m, 0, m.layers)) {
    sum += number(kind.window == 0 ? m.sequence : std::min(kind.window, m.sequence));
  }
  return sum;
}

// The products of the counted step, and attention by the convention: a forward pass takes 4 flops
// for each column of all heads, token and other token, masked or not, and backward twice that.
TEST(ModelFlops, AreTheProductsOfTheCountedStep) {
  const auto expect = [](const Model& model, const StepOptions& options, double passes) {
    const std::int64_t read = 4 * tokens_of_sequence(model, options);
    const Counts counts = counted(folded_step(model, options), ProcessGrid(), read).counts;
    const double attention =
        passes * 4 * windows(model) * number(read) * number(model.attention_columns());
    const double flops = model_flops(model, 4, options, 1).value;
    EXPECT_NEAR(flops, counts.gemm.value + attention, 1e-12 * flops) << model.name;
    if (!options.trains()) return;
    const double executed = (passes + 0.5) * 4 * seen(model) * number(model.layers * read) *
                            number(model.attention_columns());
    EXPECT_NEAR(counts.functions.value, executed, 1e-12 * executed) << model.name;
  };
  std::vector<Model> models = shapes_of(small_model(3));
  models.push_back(small_model(5));
  for (const Model& model : models) {
    StepOptions options;
    options.recompute = Recompute::none;
    expect(model, options, 3);
    options.recompute = Recompute::full;
    expect(model, options, 4);
    for (Phase phase : {Phase::evaluation, Phase::prefill, Phase::decode}) {
      options.phase = phase;
      expect(model, options, 1);
    }
  }
}

// A selective recompute runs attention again and no product: flops without recompute, as its
// convention says.
TEST(ModelFlops, OfSelectiveRecomputeAreThoseWithout) {
  const Model model = read_model("gpt-5b");

  EXPECT_EQ(model_flops(model, 8, Recompute::selective), model_flops(model, 8, Recompute::none));
  EXPECT_EQ(model_flops_convention(model, Recompute::selective),
            model_flops_convention(model, Recompute::none));
}

TEST(ParameterCount, IsWhatTheStepHas) {
  std::vector<Model> models = shapes_of(small_model(3));
  models.push_back(small_model(3));
  for (const Model& model : models) {
    const Folded folded = folded_step(model, {});
    LocalSizes sizes;
    sizes.evaluate(folded, ProcessGrid(), {8});
    double weights = 0;
    for (const BufferEvent& e : folded.persistent) {
      if (e.role == Role::parameter) {
        weights += e.sign * sizes.bytes[static_cast<std::size_t>(e.size)] / 2;
      }
    }

    EXPECT_DOUBLE_EQ(weights, parameter_count(model)) << model.name;
  }
}

using ::testing::UnorderedElementsAre;

std::vector<std::string> names_of(const Program& program, WeightKind kind) {
  std::vector<std::string> names;
  for (const Parameter& parameter : program.parameters) {
    const Value& weight = program[parameter.weight];
    if (weight.weight == kind) names.push_back(weight.label.full());
  }
  return names;
}

// As in GPT-2: weights that write into the stream of residuals start narrower, or it would widen
// with every layer.
TEST(Parameters, AreOfTheKindsOfGpt2) {
  const Program program = record_step(small_model(1), {});

  EXPECT_THAT(names_of(program, WeightKind::residual_matrix),
              UnorderedElementsAre("block0.projection.weight", "block0.down.weight"));
  EXPECT_THAT(names_of(program, WeightKind::matrix),
              UnorderedElementsAre("block0.qkv.weight", "block0.up.weight", "table", "positions"));
  EXPECT_THAT(names_of(program, WeightKind::bias),
              UnorderedElementsAre("block0.qkv.bias", "block0.projection.bias", "block0.up.bias",
                                   "block0.down.bias"));
  EXPECT_THAT(names_of(program, WeightKind::norm),
              UnorderedElementsAre("block0.norm1", "block0.norm2", "final_norm"));
}

}  // namespace
}  // namespace fourfold::tests
