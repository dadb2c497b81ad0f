// Phases that train nothing, over drawn shapes, grids and options: what they compute is the forward
// part of the published count, what they keep is what later tokens look back at, and nothing that
// speaks of gradients changes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    const double published = model_flops(model, sequences, decode).value;
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
      const Program program = record_step(model, own);
      double in_program = 0.0;
      for (std::size_t i = 0; i < program.values.size(); ++i) {
        const Value& value = program.values[i];
        if (value.role != Role::cache) continue;
        const std::int64_t tokens = sequences * tokens_of_sequence(model, own) / own.micro_batches;
        in_program += number(program.local_elements(static_cast<Id>(i), grid, {tokens}) *
                             bytes_per_element(value.precision));
      }
      EXPECT_NEAR(in_program, bytes, 1e-9 * bytes) << row_of(phase).name;
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

TEST(PhaseOrders, HaveForwardsAlone) {
  for (std::int64_t stages : {1, 2, 4}) {
    for (std::int64_t micro_batches : {1, 2, 9}) {
      StepOptions options;
      options.micro_batches = micro_batches;
      const Order training = order_of(options, {0, stages});
      options.phase = Phase::prefill;
      const Order prefill = order_of(options, {0, stages});

      EXPECT_EQ(fault(prefill, false), "");
      EXPECT_EQ(std::ssize(prefill.turns), micro_batches + 2);
      EXPECT_EQ(fault(prefill), "order: the backward of micro-batch 0 does not come");
      EXPECT_EQ(fault(training, false),
                "order: the backward of micro-batch 0 trains, and this phase does not");
    }
  }
}

TEST(PhaseNames, AreThoseOfTheTable) {
  for (const PhaseRow& row : phases) EXPECT_EQ(phase_named(row.name), row.phase);
  EXPECT_EQ(refusal([] { phase_named("decoding"); }),
            "unknown phase 'decoding'; did you mean \"decode\"? It is one of training, evaluation, "
            "prefill, decode");
}

// Steps are put together from shorter ones, whose caches are fewer.
TEST(PhasesOnStages, KeepTheCachesOfAllMicroBatches) {
  const Model model = small_model(8);
  StepOptions options;
  options.phase = Phase::decode;
  for (const std::int64_t stages : {1, 2, 4}) {
    double of_one = 0.0;
    for (const std::int64_t micro_batches : {1, 3, 40}) {
      options.micro_batches = micro_batches;
      double sum = 0.0;
      for (const Folded& folded : folded_stages(model, options, stages)) {
        LocalSizes sizes;
        sizes.evaluate(folded, {1, 1, 1, 1}, {1});
        const MemoryUse use = peak_memory(folded, sizes, {1, 1, 1, 1});
        sum += use.by_role[static_cast<int>(Role::cache)].value;
      }
      if (micro_batches == 1) of_one = sum;
      EXPECT_DOUBLE_EQ(sum, number(micro_batches) * of_one) << stages << " stages";
    }
    EXPECT_GT(of_one, 0.0);
  }
}

}  // namespace
}  // namespace fourfold::tests
