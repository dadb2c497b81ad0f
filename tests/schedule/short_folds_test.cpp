// A folded schedule, written out, is the schedule it was folded from, step for step; and steps that
// are put together from short recordings, or from those of shallow models, are those recorded
// whole.
#include "schedule/fold/short_folds.hpp"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "schedule/fold/deep_folds.hpp"
#include "schedule/fold/fold.hpp"
#include "schedule/models/fit.hpp"
#include "schedule/order/step.hpp"
#include "tests/schedule/steps.hpp"

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
class FoldDraw {
 public:
  explicit FoldDraw(unsigned seed) : random_(seed) {}

  StepOptions options(std::int64_t stages, std::int64_t chunks) {
    const std::int64_t micro_batches =
        chunks > 1 ? stages * one_of({1, 2, 3, 5, 8}) : one_of({1, 2, 3, 5, 7, 16, 23, 40});
    StepOptions options = recomputing_some(random_, random_options(random_, micro_batches));
    options.chunks = chunks;
    constexpr std::array of_one_chunk{PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                                      PipelineOrder::zero_bubble};
    options.order = chunks > 1 ? PipelineOrder::interleaved
                               : of_one_chunk[static_cast<std::size_t>(one_of({0, 1, 2}))];
    options.zero = one_of({0, 0, 1, 2, 3});
    options.data_bucket = one_of({0, 0, 1 << 24, 1 << 28, 1 << 30});
    if (one_of({0, 1})) options.offload_bucket = 1 << 20;
    if (one_of({0, 1})) options.attention = AttentionKernel::unfused;
    for (bool* either : {&options.overlap.messages, &options.sequence_parallel,
                         &options.cut_messages, &options.offload_activations}) {
      *either = one_of({0, 1}) == 1;
    }
    return options;
  }
  // Training as often as all others together.
  Phase phase() { return phases[static_cast<std::size_t>(one_of({0, 0, 0, 1, 2, 3}))].phase; }
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
    FoldDraw draw(seed);
    const std::int64_t stages = draw.one_of({2, 3, 4, 6, 8, 13});
    const std::int64_t chunks = draw.one_of({1, 1, 2, 3});
    const Model model{"drawn", stages * chunks * draw.one_of({1, 1, 2}) + draw.one_of({0, 0, 1, 2}),
                      3840,    24,
                      2048,    51'200};
    StepOptions options = draw.options(stages, chunks);
    options.phase = draw.phase();
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
    FoldDraw draw(seed);
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

Model drawn_model(FoldDraw& draw, std::int64_t chunks) {
  Model model{"drawn", chunks * draw.one_of({18, 20, 27, 31}) + draw.one_of({0, 0, 1}),
              3840,    24,
              2048,    51'200};
  model.layer_pattern = draw.one_of({0, 0, 1}) == 1 ? "attention window_tokens=512, attention" : "";
  if (draw.one_of({0, 1}) == 1) {
    model.norm = NormKind::rms;
    model.biases = false;
    model.mlp = MlpKind::swiglu;
    model.embeddings = EmbeddingsKind::untied;
  }
  return model;
}

TEST(DeepFolds, AreTheStepsRecordedWhole) {
  int equal = 0, drawn = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    FoldDraw draw(seed);
    const std::int64_t stages = draw.one_of({1, 1, 1, 2, 3});
    const std::int64_t chunks = stages > 1 ? draw.one_of({1, 1, 2}) : 1;
    const Model model = drawn_model(draw, stages * chunks);
    StepOptions options = draw.options(stages, chunks);
    options.phase = draw.phase();
    options.data_bucket = 0;
    options.recompute_layers = 0;
    if (chunks == 1 && draw.one_of({0, 0, 1}) == 1) {
      options.order = PipelineOrder::message_driven;
    }
    const auto models = shallow_models(model, options, stages);
    for (std::int64_t i = 0; models && i < stages; ++i) {
      const Stage stage{i, stages};
      const std::string what = "seed " + std::to_string(seed) + ", stage " + std::to_string(i) +
                               " of " + std::to_string(stages);
      const auto made = deepened(folded_step(models->few, options, stage),
                                 folded_step(models->more, options, stage), models->periods);
      ++drawn;
      if (!made) continue;
      ++equal;
      expect_equal(*made, folded_step(model, options, stage), what);
    }
  }
  EXPECT_GT(drawn, 60);
  EXPECT_GT(equal, drawn * 9 / 10) << "of " << drawn;
}

TEST(DeepFolds, AreOfModelsWhoseLayersAreAlike) {
  const Model deep{"deep", 96, 3840, 24, 2048, 51'200};
  StepOptions options;

  ASSERT_TRUE(shallow_models(deep, options, 1).has_value());
  EXPECT_LT(shallow_models(deep, options, 1)->more.layers, 10);
  EXPECT_FALSE(shallow_models(deep, options, 16).has_value());
  options.recompute_layers = 3;
  EXPECT_FALSE(shallow_models(deep, options, 1).has_value());
  options = {};
  options.data_bucket = 1 << 20;
  EXPECT_FALSE(shallow_models(deep, options, 1).has_value());
  options = {};
  options.layers_per_stage = LayersPerStage::parse("48,48");
  EXPECT_FALSE(shallow_models(deep, options, 2).has_value());
}

// Steps that differ in more than counts say nothing of deeper ones.
TEST(DeepFolds, AreNoneOfStepsThatAreUnlike) {
  const Model few{"few", 7, 3840, 24, 2048, 51'200};
  Model more = few;
  more.layers = 8;
  StepOptions other;
  other.recompute = Recompute::none;
  const Folded seven = folded_step(few, {}, {});

  EXPECT_TRUE(deepened(seven, folded_step(more, {}, {}), 3).has_value());
  EXPECT_FALSE(deepened(seven, folded_step(more, other, {}), 3).has_value());
  EXPECT_FALSE(deepened(folded_step(more, {}, {}), seven, 3).has_value());
  more.hidden = 1920;
  EXPECT_FALSE(deepened(seven, folded_step(more, {}, {}), 3).has_value());
}

TEST(Fold, RecordsMoreMicroBatchesWhereTheWindowReachesAcrossThem) {
  StepOptions options;
  options.in_flight_blocks = 2;
  EXPECT_EQ(recorded_micro_batches(small_model(24), options), 4);
  options.in_flight_blocks = 25;
  EXPECT_EQ(recorded_micro_batches(small_model(24), options), 4);
  options.in_flight_blocks = 26;
  EXPECT_EQ(recorded_micro_batches(small_model(24), options), 5);
  options.overlap = no_overlap;
  EXPECT_EQ(recorded_micro_batches(small_model(24), options), 3);
}

TEST(Fold, StretchesOnlyWhatHasAMiddleAndOnlyUpwards) {
  Folded one = folded_step(small_model(2), {});
  StepOptions options;
  options.micro_batches = 4;
  Folded four = folded_step(small_model(2), options);

  EXPECT_THROW(stretch(one, 4), std::logic_error);
  EXPECT_THROW(stretch(four, 3), std::logic_error);
  // Three layers and the embedding: a window of nine blocks spans three backward passes.
  options.in_flight_blocks = 9;
  Folded unsettled = fold_schedule(issue(record_step(small_model(3), options), options));
  EXPECT_FALSE(unsettled.settled);
  EXPECT_THROW(stretch(unsettled, 20), std::logic_error);
}

}  // namespace
}  // namespace fourfold::tests
