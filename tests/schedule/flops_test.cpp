// Executed flops, summed over ranks, equal the analytic count of the step; and agree with the model
// flops of Narayanan et al. in the terms that formula has.
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

// The head's term of the formula: what goes when the vocabulary does.
double head_term(Model model, std::int64_t sequences, Recompute recompute) {
  const Flops all = model_flops(model, sequences, recompute);
  model.vocabulary = 0;
  return (all - model_flops(model, sequences, recompute)).value;
}

// The attention term: at equal tokens it is the one that doubles with the sequence.
double attention_term(Model model, std::int64_t sequences, Recompute recompute) {
  const Flops all = model_flops(model, sequences, recompute);
  model.sequence *= 2;
  return (model_flops(model, sequences / 2, recompute) - all).value;
}

TEST(ModelFlops, AgreeWithTheExecutedOnesInTheTermsTheFormulaHas) {
  for (Recompute recompute : {Recompute::none, Recompute::full}) {
    const Model model = read_model("gpt-5b");
    const std::int64_t sequences = 8;
    const double head = head_term(model, sequences, recompute);
    const double attention = attention_term(model, sequences, recompute);
    const double layers = model_flops(model, sequences, recompute).value - head - attention;

    StepOptions options;
    options.recompute = recompute;
    const Counts counts = counted(model, options, ProcessGrid(2, 2, 2, 1), sequences).counts;
    const double replicas = 2;  // along y, of attention

    EXPECT_NEAR(head / head_flops(model, sequences), 1, 1e-9);
    EXPECT_NEAR(layers / layer_flops(model, sequences, recompute), 1, 1e-9);
    EXPECT_NEAR((layers + head) / (8 * counts.gemm.value), 1, 1e-9);
    // The formula counts every pair of positions and backward as two forwards: 16 (12 without
    // recompute) s h a token and layer. A causal flash kernel executes 2 (s+1) forward and 5 (s+1)
    // backward: 9 (7) of it, so the exact ratio is 9/16 (7/12) of (s+1)/s.
    const double s = number(model.sequence);
    const double ratio = (recompute == Recompute::full ? 9.0 / 16 : 7.0 / 12) * (s + 1) / s;
    EXPECT_NEAR(8 * counts.functions.value / (replicas * attention), ratio, 1e-9);
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
    const double flops = model_flops(model, 4, options).value;
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

TEST(ModelFlops, NameTheirConvention) {
  const Model model = read_model("gpt-5b");

  EXPECT_EQ(model_flops_convention(model, Recompute::full),
            "Narayanan et al. SC21 eq. 3, recompute counted");
  EXPECT_EQ(model_flops_convention(model, Recompute::none),
            "Narayanan et al. SC21 eq. 3, no recompute");
}

// Narayanan et al., SC21, eq. 2: 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)), and the last norm's
// 2 h. Of other blocks the same, with the four products, norms and biases that they have.
double published_parameters(const Model& m) {
  const double l = number(m.layers), h = number(m.hidden);
  const double norm = m.norm == NormKind::rms ? h : 2 * h;
  const double qkv = number((m.heads + 2 * m.kv_heads()) * m.head_columns());
  const double up = number(m.mlp == MlpKind::swiglu ? 2 * m.width() : m.width());
  const double products =
      h * qkv + number(m.heads * m.head_columns()) * h + h * up + number(m.width()) * h;
  const double biases = m.biases ? qkv + up + 2 * h : 0;
  const double norms = (m.norm_place == NormPlace::both ? 4 : 2) * norm;
  const std::int64_t heads_with_scales = m.query_key_norm == QueryKeyNormKind::none ? 0
                                         : m.query_key_norm == QueryKeyNormKind::heads
                                             ? 2
                                             : m.heads + m.kv_heads();
  const double scales = number(heads_with_scales * m.head_columns());
  const double positions = m.position == PositionKind::rotary ? 0 : number(m.sequence);
  const double tables = (m.tied() ? 1 : 2) * number(m.vocabulary);
  return l * (products + norms + scales + biases) + (tables + positions) * h + norm;
}

TEST(ParameterCount, IsThePublishedFormula) {
  for (const char* name : {"gpt-5b", "gpt-640b", "gpt3-175b"}) {
    const Model m = read_model(name);
    const double l = number(m.layers), h = number(m.hidden);
    const double formula =
        12 * l * h * h * (1 + 13 / (12 * h) + number(m.vocabulary + m.sequence) / (12 * l * h));
    EXPECT_NEAR(parameter_count(m) / (formula + 2 * h), 1.0, 1e-15) << name;
  }
  for (const std::string& name : known_models()) {
    EXPECT_EQ(parameter_count(read_model(name)), published_parameters(read_model(name))) << name;
  }
  for (std::int64_t layers : {1, 2, 3, 7, 10'000}) {
    for (const Model& model : shapes_of(small_model(layers))) {
      EXPECT_EQ(parameter_count(model), published_parameters(model)) << described(model);
    }
  }
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

}  // namespace
}  // namespace fourfold::tests
