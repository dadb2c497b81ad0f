// Phases that train nothing, over drawn shapes, grids and options: what they compute is the forward
// part of the published count, what they keep is what later tokens look back at, and nothing that
// speaks of gradients changes them. And which precision values are kept in.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/fold/memory.hpp"
#include "schedule/fold/short_folds.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/models/layer_pattern.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/program/options_in_effect.hpp"
#include "tests/refusal.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/shapes.hpp"

namespace fourfold::tests {
namespace {

double number(std::int64_t value) {
  return static_cast<double>(value);
}

StepOptions of_phase(StepOptions options, Phase phase) {
  options.phase = phase;
  return options;
}

Counted counted_phase(const Model& model, const StepOptions& options, const ProcessGrid& grid,
                      std::int64_t sequences) {
  return counted(folded_step(model, options), grid,
                 sequences * tokens_of_sequence(model, options) / options.micro_batches);
}

class Phases : public ::testing::Test {
 protected:
  // Calls with a model, a grid, options and a batch.
  template <typename Check>
  void draw(const Check& check) {
    for (int i = 0; i < 40; ++i) {
      const auto one_of = [&](std::initializer_list<std::int64_t> numbers) {
        return numbers.begin()[random_() % numbers.size()];
      };
      const ProcessGrid grid(one_of({1, 2, 3}), one_of({1, 2, 4}), one_of({1, 2, 5}),
                             one_of({1, 3}));
      const Model gpt = small_model(one_of({1, 2, 4}));
      std::vector<Model> models = beyond_llama(gpt);
      models.push_back(gpt);
      models.push_back(as_llama(gpt));
      const Model model = models[random_() % models.size()];
      const StepOptions options =
          recomputing_some(random_, random_options(random_, one_of({1, 2, 3})));
      SCOPED_TRACE(model.name + " grid " + grid.str() + " " + described(options));
      check(model, grid, options, 6 * grid.extent(Axis::z) * grid.extent(Axis::data));
    }
  }

  std::mt19937 random_{5};
};

TEST_F(Phases, ComputeTheForwardPartOfAStep) {
  draw(
      [](const Model& model, const ProcessGrid& grid, StepOptions options, std::int64_t sequences) {
        const double ranks = number(grid.size());
        const auto gemm = [&](Phase phase) {
          return ranks *
                 counted_phase(model, of_phase(options, phase), grid, sequences).counts.gemm.value;
        };
        options.recompute = Recompute::none;
        const double logits = 2.0 * number(model.hidden * model.vocabulary * sequences);
        const double evaluation = gemm(Phase::evaluation);
        EXPECT_NEAR(gemm(Phase::training), 3.0 * evaluation, 1e-12 * evaluation);
        EXPECT_NEAR(gemm(Phase::prefill), evaluation - logits * number(model.sequence - 1),
                    1e-12 * evaluation);
        EXPECT_NEAR(gemm(Phase::decode) * number(model.sequence), evaluation, 1e-12 * evaluation);
      });
}

// Attention to a cache looks at all that it has, as the published count does. QKV is cut by x
// alone, so that every rank along y repeats the same attention.
TEST_F(Phases, OfADecodingStepComputeAsThePublishedCountSays) {
  draw([](const Model& model, const ProcessGrid& grid, const StepOptions& options,
          std::int64_t sequences) {
    const StepOptions decode = of_phase(options, Phase::decode);
    const Counts counts = counted_phase(model, decode, grid, sequences).counts;
    const double once = counts.gemm.value + counts.functions.value / number(grid.extent(Axis::y));
    const double published = model_flops(model, sequences, decode, 1).value;
    EXPECT_NEAR(number(grid.size()) * once, published, 1e-12 * published);
  });
}

TEST_F(Phases, KeepKeysAndValuesOfWhatLaterTokensLookAt) {
  draw([](const Model& model, const ProcessGrid& grid, const StepOptions& options,
          std::int64_t sequences) {
    double tokens = 0.0;  // of one sequence, in all layers
    for (const LayerKind& kind : layer_kinds(model, 0, model.layers)) {
      tokens += number(kind.window == 0 ? model.sequence : std::min(kind.window, model.sequence));
    }
    const double parts =
        number(grid.extent(Axis::x) * grid.extent(Axis::z) * grid.extent(Axis::data));
    const double bytes = tokens *
                         number(sequences * 2 * model.kv_heads() * model.head_columns() *
                                bytes_per_element(options.precision)) /
                         parts;
    for (Phase phase : {Phase::prefill, Phase::decode}) {
      const StepOptions own = of_phase(options, phase);
      const MemoryUse memory = counted_phase(model, own, grid, sequences).memory;
      // At the peak of a prefill the last micro-batch need not have written its own.
      const double at_peak = memory.by_role[static_cast<int>(Role::cache)].value;
      EXPECT_LE(at_peak, bytes * (1.0 + 1e-9)) << row_of(phase).name;
      if (own.micro_batches == 1 || phase == Phase::decode) {
        EXPECT_NEAR(at_peak, bytes, 1e-9 * bytes) << row_of(phase).name;
      }
      EXPECT_EQ(memory.by_role[static_cast<int>(Role::gradient)].value, 0.0);
      EXPECT_EQ(memory.by_role[static_cast<int>(Role::optimizer)].value, 0.0);
      EXPECT_EQ(roles_in(memory.by_role).back(), Role::cache);
    }
  });
}

TEST_F(Phases, DoNotHearOptionsThatSpeakOfGradients) {
  draw([this](const Model& model, const ProcessGrid& grid, const StepOptions& options,
              std::int64_t sequences) {
    StepOptions other = options;
    const StepOptions drawn = recomputing_some(random_, random_options(random_, 1));
    other.recompute = drawn.recompute;
    other.recompute_every = drawn.recompute_every;
    other.in_flight_blocks = drawn.in_flight_blocks;
    other.gradient_reduction = drawn.gradient_reduction;
    other.data_reduction = drawn.data_reduction;
    other.grad_reduce_precision_z = drawn.grad_reduce_precision_z;
    other.grad_reduce_precision_data = drawn.grad_reduce_precision_data;
    other.order = PipelineOrder::gpipe;
    other.data_bucket = 1 << 20;
    for (Phase phase : {Phase::evaluation, Phase::prefill, Phase::decode}) {
      const Counted one = counted_phase(model, of_phase(options, phase), grid, sequences);
      const Counted two = counted_phase(model, of_phase(other, phase), grid, sequences);
      EXPECT_EQ(one.counts.executed(), two.counts.executed()) << row_of(phase).name;
      EXPECT_EQ(one.counts.payload, two.counts.payload) << row_of(phase).name;
      EXPECT_EQ(one.memory.peak, two.memory.peak) << row_of(phase).name;
      EXPECT_EQ(in_effect(of_phase(options, phase), grid), in_effect(of_phase(other, phase), grid));
    }
  });
}

TEST(PhaseNames, AreThoseOfTheTable) {
  for (const PhaseRow& row : phases) EXPECT_EQ(phase_named(row.name), row.phase);
  EXPECT_EQ(refusal([] { phase_named("decoding"); }),
            "unknown phase 'decoding'; did you mean \"decode\"? It is one of training, evaluation, "
            "prefill, decode");
}

// In fp32 nothing is bf16; and what no precision asks for is not done: fp32 gradients need no cast
// to fp32.
TEST(Precision, IsChangedOnlyWhereItDiffers) {
  std::mt19937 random(3);
  for (int i = 0; i < 40; ++i) {
    StepOptions options = random_options(random, 1 + i % 3);
    if (i % 2 == 0) options.precision = Precision::fp32;

    const Program program = record_step(small_model(2), options);

    for (const Value& value : program.values) {
      EXPECT_TRUE(i % 2 == 1 || value.precision != Precision::bf16);
    }
    for (const Op& op : program.ops) {
      if (!op.is(functions::cast)) continue;
      EXPECT_NE(program[op.inputs[0]].precision, program[op.outputs[0]].precision);
    }
  }
}

// Products are kept in fp32 only where they wait for others to be added to.
TEST(Precision16, GradientsOfOneMicroBatchAreAsTheReductionTakesThem) {
  StepOptions options;
  options.gradient_reduction = GradientReduction::accumulated;
  const auto precision_of = [&](std::int64_t micro_batches) {
    options.micro_batches = micro_batches;
    const Program program = record_step(small_model(1), options);
    const auto product = std::find_if(program.ops.begin(), program.ops.end(), [](const Op& op) {
      return op.kind == OpKind::gemm && op.form == GemmForm::tn;
    });
    return program[product->outputs[0]].precision;
  };

  EXPECT_EQ(precision_of(1), Precision::bf16);
  EXPECT_EQ(precision_of(2), Precision::fp32);
}

TEST(Evaluation, KeepsLossesAndLogitsToTheEndAndNoOptimizerState) {
  const Schedule schedule = issue(record_evaluation(small_model(2), {}), {});

  std::multiset<std::string> left;
  for (const Issue& issue : schedule.stream) {
    const std::string name = issue.kind == IssueKind::allocate || issue.kind == IssueKind::release
                                 ? schedule.program[issue.id].label.full()
                                 : "";
    if (issue.kind == IssueKind::allocate) left.insert(name);
    if (issue.kind == IssueKind::release) left.erase(left.find(name));
  }
  EXPECT_EQ(left, (std::multiset<std::string>{"logits", "loss", "token_loss"}));
  for (Id id : schedule.program.kept) {
    EXPECT_TRUE(schedule.program[id].shape.sharding.partial.empty());
  }
  for (const Value& value : schedule.program.values) EXPECT_NE(value.role, Role::optimizer);
}

}  // namespace
}  // namespace fourfold::tests
