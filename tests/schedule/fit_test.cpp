// Which grids cannot hold a model, and the sentence that says why.
#include "schedule/models/fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/divisors.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;

// 12 heads, hidden 48: x may be 1, 2, 3, 4, 6, 12; y any divisor of 48.
const Model model{"my-model", 2, 48, 12, 8, 96};

StepOptions of(std::int64_t micro_batches) {
  StepOptions options;
  options.micro_batches = micro_batches;
  return options;
}

TEST(Misfit, NamesTheFirstReasonInOrder) {
  EXPECT_EQ(find_misfit(model, {2, 4, 3, 2}, 24, of(4)), Misfit::none);
  EXPECT_EQ(find_misfit(model, {8, 5, 5, 1}, 24, of(1)), Misfit::heads);
  EXPECT_EQ(find_misfit(model, {2, 5, 5, 1}, 24, of(1)), Misfit::divisibility);
  EXPECT_EQ(find_misfit(model, {2, 4, 5, 1}, 24, of(1)), Misfit::batch);
  EXPECT_EQ(find_misfit(model, {2, 4, 3, 2}, 24, of(8)), Misfit::batch);
  EXPECT_EQ(find_misfit(model, {1, 1, 1, 1}, 24, of(0)), Misfit::batch);
}

TEST(Misfit, IsASentenceWithTheNumbers) {
  EXPECT_EQ(misfit(model, {2, 4, 3, 2}, 24, of(4)), "");
  EXPECT_EQ(misfit(model, {8, 1, 1, 1}, 24, of(1)),
            "grid 8x1x1x1 does not fit my-model: 12 heads do not divide by x = 8; x must be a "
            "divisor of the heads");
  EXPECT_EQ(misfit(model, {2, 5, 1, 1}, 24, of(1)),
            "grid 2x5x1x1 does not fit my-model: hidden size 48 does not divide by y = 5; x and y "
            "must be divisors of it");
  EXPECT_EQ(misfit(model, {1, 1, 5, 2}, 24, of(3)),
            "grid 1x1x5x2 does not fit my-model: a batch of 24 sequences does not divide into 3 "
            "micro-batches of whole sequences on z x data = 5 x 2 shares");
  EXPECT_EQ(misfit(model, {1, 1, 1, 2}, 24, of(5)),
            "grid 1x1x1x2 does not fit my-model: a batch of 24 sequences does not divide into 5 "
            "micro-batches of whole sequences on z x data = 1 x 2 shares; 4 or 6 would");
  EXPECT_EQ(
      misfit(model, {1, 1, 1, 1, 3}, 24, of(2)),
      "grid pipe=3 does not fit my-model: 2 layers cannot be dealt out to 3 stages of 1 chunk "
      "each; stages x chunks must be at most the layers");
}

TEST(OrderMisfit, SaysWhatAnOrderNeeds) {
  StepOptions options = of(6);
  options.chunks = 2;
  EXPECT_EQ(order_misfit(options, 2),
            "the order 1f1b has 1 chunk on each stage, not 2; several are for --order interleaved");
  options.order = PipelineOrder::interleaved;
  EXPECT_EQ(order_misfit(options, 2), "");
  EXPECT_EQ(order_misfit(options, 4),
            "the interleaved order takes micro-batches in groups of as many as there are stages: 6 "
            "are no multiple of 4; the nearest are 4 and 8");
  EXPECT_EQ(order_misfit(options, 1),
            "the interleaved order needs at least 2 stages: give the grid a pipe axis");
  options.chunks = 1;
  EXPECT_EQ(order_misfit(options, 2),
            "the interleaved order needs at least 2 chunks of layers on each stage: --chunks 2");
}

TEST(OrderMisfit, SaysWhatAReadyQueueNeeds) {
  StepOptions options = of(6);
  options.pipeline_limit = 2;
  EXPECT_EQ(order_misfit(options, 2),
            "the order 1f1b has no limit of micro-batches in flight; --pipeline-limit is for "
            "--order message-driven");
  options.order = PipelineOrder::message_driven;
  EXPECT_EQ(order_misfit(options, 2), "");
  EXPECT_EQ(order_misfit(options, 1),
            "the message-driven order needs at least 2 stages: give the grid a pipe axis");
  options.overlap.messages = false;
  EXPECT_EQ(order_misfit(options, 2),
            "the message-driven order receives messages ahead, as it runs what has arrived: it "
            "needs the overlap of messages");
  options.overlap.messages = true;
  options.chunks = 2;
  EXPECT_EQ(order_misfit(options, 2),
            "the order message-driven has 1 chunk on each stage, not 2; several are for --order "
            "interleaved");
}

TEST(SequenceParallelism, NeedsTokensThatXDivides) {
  StepOptions options = of(24);
  options.sequence_parallel = true;
  EXPECT_EQ(find_misfit(model, {4, 1, 1, 1}, 24, options), Misfit::none);
  EXPECT_EQ(misfit(model, {3, 1, 1, 1}, 24, options),
            "grid 3x1x1x1 does not fit my-model: sequence parallelism cuts the 8 tokens of a "
            "micro-batch on a device by x = 3, which must divide them");
}

// A grid that fits leaves no local extent rounded up.
TEST(Misfit, OfNoneMeansThatEveryExtentDivides) {
  for (std::int64_t x = 1; x <= 12; ++x) {
    for (std::int64_t y = 1; y <= 48; ++y) {
      const bool divides = model.heads % x == 0 && model.hidden % x == 0 && model.hidden % y == 0;
      EXPECT_EQ(find_misfit(model, {x, y, 1, 1}, 24, of(1)) == Misfit::none, divides)
          << x << "x" << y;
    }
  }
}

// Heads of keys and values and SwiGLU's pairs stay whole.
TEST(Misfit, OfALlamaIsWhatXDoesNotDivide) {
  Model llama = model;
  llama.key_value_heads = model.heads / 3;
  llama.mlp = MlpKind::swiglu;
  llama.mlp_width = 50;
  for (std::int64_t x = 1; x <= 12; ++x) {
    const bool divides = model.heads % x == 0 && llama.kv_heads() % x == 0 && 50 % x == 0;
    EXPECT_EQ(find_misfit(llama, {x, 1, 1, 1}, 24, of(1)) == Misfit::none, divides) << x;
  }
  EXPECT_EQ(
      misfit(llama, {6, 1, 1, 1}, 24, of(1)),
      "grid 6x1x1x1 does not fit my-model: 4 heads of keys and values do not divide by x = 6; "
      "x must be a divisor of them, as each is on one device along x only");
  EXPECT_EQ(misfit(llama, {4, 1, 1, 1}, 24, of(1)),
            "grid 4x1x1x1 does not fit my-model: the MLP's 50 columns do not divide by x = 4; x "
            "must be a divisor of them");
}

TEST(Misfit, OfModelsIsThatOfAnyBatch) {
  EXPECT_EQ(find_misfit(model, {8, 5, 5, 1}), Misfit::heads);
  EXPECT_EQ(find_misfit(model, {2, 5, 5, 1}), Misfit::divisibility);
  EXPECT_EQ(indivisible_axis(model, {2, 5, 5, 1}), Axis::y);
  EXPECT_EQ(find_misfit(model, {2, 4, 5, 1}), Misfit::none);
}

TEST(ModelParts, AreTheProductsOfEveryXAndYThatFit) {
  std::set<std::int64_t> products;
  for (std::int64_t x = 1; x <= model.heads; ++x) {
    for (std::int64_t y = 1; y <= model.hidden; ++y) {
      if (find_misfit(model, {x, y, 1, 1}) == Misfit::none) products.insert(x * y);
    }
  }

  EXPECT_EQ(model_parts(model), products);
}

TEST(BatchUnit, IsWhatEveryBatchThatFitsIsAMultipleOf) {
  const ProcessGrid grid(1, 1, 3, 2);
  for (std::int64_t batch = 1; batch <= 60; ++batch) {
    const bool multiple = batch % batch_unit(grid, 4) == 0;

    EXPECT_EQ(find_misfit(model, grid, batch, of(4)) == Misfit::none, multiple) << batch;
  }
}

TEST(Divisors, AreAllOfThemInOrder) {
  EXPECT_THAT(divisors(1), ElementsAre(1));
  EXPECT_THAT(divisors(12), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_THAT(divisors(49), ElementsAre(1, 7, 49));
}

}  // namespace
}  // namespace fourfold::tests
