// Steps that are put together from short recordings are the steps that are recorded whole.
#include "schedule/fold/short_folds.hpp"

#include <gtest/gtest.h>

#include "schedule/models/fit.hpp"
#include "schedule/order/step.hpp"
#include "tests/schedule/fold_draw.hpp"

namespace fourfold::tests {
namespace {

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

}  // namespace
}  // namespace fourfold::tests
