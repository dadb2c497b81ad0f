// Steps of deep models that are put together from shallow ones are the steps that are recorded
// whole.
#include "schedule/fold/deep_folds.hpp"

#include <gtest/gtest.h>

#include "tests/schedule/fold_draw.hpp"

namespace fourfold::tests {
namespace {

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

}  // namespace
}  // namespace fourfold::tests
