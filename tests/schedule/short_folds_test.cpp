// Steps that are put together from short recordings are the steps that are recorded whole.
#include "schedule/fold/short_folds.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "schedule/models/fit.hpp"
#include "schedule/order/step.hpp"

namespace fourfold::tests {
namespace {

// Body after body, as a device runs them.
std::vector<std::int32_t> unrolled(const Folded& folded) {
  std::vector<std::int32_t> bodies;
  for (const BodyCycle& cycle : folded.cycles) {
    for (std::int64_t i = 0; i < cycle.repeats; ++i) {
      for (const BodyRun& run : cycle.runs) {
        bodies.insert(bodies.end(), static_cast<std::size_t>(run.repeats), run.body);
      }
    }
  }
  return bodies;
}

void expect_equal(const Folded& made, const Folded& whole, const std::string& what) {
  EXPECT_TRUE(made.channels == whole.channels) << what;
  EXPECT_TRUE(made.shapes == whole.shapes) << what;
  EXPECT_TRUE(made.sizes == whole.sizes) << what;
  EXPECT_TRUE(made.classes == whole.classes) << what;
  EXPECT_TRUE(made.bundles == whole.bundles) << what;
  EXPECT_TRUE(made.collectives == whole.collectives) << what;
  EXPECT_TRUE(made.persistent == whole.persistent) << what;
  EXPECT_TRUE(made.on_host == whole.on_host) << what;
  ASSERT_EQ(made.bodies.size(), whole.bodies.size()) << what;
  for (std::size_t b = 0; b < made.bodies.size(); ++b) {
    EXPECT_TRUE(made.bodies[b].steps == whole.bodies[b].steps) << what << ", body " << b;
    EXPECT_TRUE(made.bodies[b].events == whole.bodies[b].events) << what << ", body " << b;
  }
  EXPECT_EQ(unrolled(made), unrolled(whole)) << what;
  EXPECT_EQ(made.micro_batches, whole.micro_batches) << what;
}

// Options drawn by chance, of any order but the message-driven.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  StepOptions options(std::int64_t stages, std::int64_t chunks) {
    StepOptions options;
    options.chunks = chunks;
    constexpr std::array of_one_chunk{PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                                      PipelineOrder::zero_bubble};
    options.order = chunks > 1 ? PipelineOrder::interleaved
                               : of_one_chunk[static_cast<std::size_t>(one_of({0, 1, 2}))];
    options.micro_batches =
        chunks > 1 ? stages * one_of({1, 2, 3, 5, 8}) : one_of({1, 2, 3, 5, 7, 16, 23, 40});
    for (bool* overlap : {&options.overlap.all_reduce, &options.overlap.reduce_scatter,
                          &options.overlap.all_gather, &options.overlap.recompute_gather,
                          &options.overlap.across_blocks, &options.overlap.messages}) {
      *overlap = one_of({0, 1, 1}) == 1;
    }
    constexpr std::array recomputes{Recompute::none, Recompute::full, Recompute::selective,
                                    Recompute::mlp, Recompute::norms};
    options.recompute = recomputes[static_cast<std::size_t>(one_of({0, 1, 1, 2, 3, 4}))];
    options.recompute_every = one_of({1, 1, 2});
    options.recompute_layers = one_of({0, 0, 1});
    options.zero = one_of({0, 0, 1, 2, 3});
    options.in_flight_blocks = one_of({0, 1, 2, 2, 5});
    options.sequence_parallel = one_of({0, 1}) == 1;
    options.cut_messages = one_of({0, 1}) == 1;
    if (one_of({0, 1})) options.offload_bucket = 1 << 20;
    options.data_bucket = one_of({0, 0, 1 << 24, 1 << 28, 1 << 30});
    if (one_of({0, 1})) options.attention = AttentionKernel::unfused;
    if (one_of({0, 1})) options.weight_gather = WeightGather::keep;
    if (one_of({0, 1})) options.gradient_reduction = GradientReduction::accumulated;
    if (one_of({0, 1})) options.data_reduction = DataReduction::beside_backward;
    return options;
  }
  // Layers dealt out by chance, at least one a stage, now and then.
  LayersPerStage split(std::int64_t layers, std::int64_t stages) {
    if (one_of({0, 1})) return {};
    std::string text;
    for (std::int64_t left = stages; left > 0; --left) {
      const std::int64_t most = layers - (left - 1);
      const std::int64_t own = left == 1 ? layers : std::min(most, one_of({1, 1, 2, 3}));
      text += (text.empty() ? "" : ",") + std::to_string(own);
      layers -= own;
    }
    return LayersPerStage::parse(text);
  }
  std::int64_t one_of(std::initializer_list<std::int64_t> numbers) {
    return numbers.begin()[random_() % numbers.size()];
  }

 private:
  std::mt19937 random_;
};

TEST(ShortFolds, AreTheStepsRecordedWhole) {
  std::int64_t equal = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const std::int64_t stages = draw.one_of({2, 3, 4, 6, 8, 13});
    const std::int64_t chunks = draw.one_of({1, 1, 2, 3});
    const Model model{"drawn", stages * chunks * draw.one_of({1, 1, 2}) + draw.one_of({0, 0, 1, 2}),
                      3840,    24,
                      2048,    51'200};
    StepOptions options = draw.options(stages, chunks);
    if (model.layers >= stages * chunks)
      options.layers_per_stage = draw.split(model.layers, stages);
    if (!options.layers_per_stage.fault(model.layers, stages, chunks).empty()) {
      options.layers_per_stage = {};
    }
    ShortFolds folds(model, options);
    for (std::int64_t i = 0; i < stages; ++i) {
      const std::string what = "seed " + std::to_string(seed) + ", stage " + std::to_string(i) +
                               " of " + std::to_string(stages);
      const std::optional<Folded> made = folds.step({i, stages}, options.micro_batches);
      if (!made) continue;
      ++equal;
      expect_equal(*made, folded_step(model, options, {i, stages}), what);
    }
  }
  EXPECT_GT(equal, 200);
}

TEST(PlainOptions, AreFoldedAsTheOptionsThemselves) {
  std::int64_t plainer = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const std::int64_t stages = draw.one_of({1, 1, 2});
    const Model model{"drawn", 4, 3840, 24, 2048, 51'200};
    const StepOptions options = draw.options(stages, 1);
    const StepOptions simple = plain(options, stages);
    if (simple == options) continue;
    ++plainer;
    for (std::int64_t i = 0; i < stages; ++i) {
      expect_equal(folded_step(model, simple, {i, stages}),
                   folded_step(model, options, {i, stages}),
                   "seed " + std::to_string(seed) + ", stage " + std::to_string(i));
    }
  }
  EXPECT_GT(plainer, 20);
}

TEST(ShortFolds, NeedFewMicroBatchesForALongPipeline) {
  StepOptions options;
  options.micro_batches = 256;
  const Stage first{0, 64};

  const Order order = short_order(options, first, 4);

  EXPECT_EQ(order_of(options, first).turns.size(), 2u * 256 + 3);
  EXPECT_LE(order.turns.size(), 2u * 8 + 3);
  EXPECT_EQ(fault(order), "");
}

TEST(ShortFolds, LeaveReadyQueuesAlone) {
  StepOptions options;
  options.order = PipelineOrder::message_driven;
  options.micro_batches = 8;
  const Model model{"small", 4, 3840, 24, 2048, 51'200};

  EXPECT_FALSE(ShortFolds(model, options).step({0, 4}, 8).has_value());
}

}  // namespace
}  // namespace fourfold::tests
