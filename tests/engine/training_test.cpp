// Training goes downhill, starts alike everywhere, and refuses what does not divide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

template <typename Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

TEST(Training, LossFallsFromThatOfGuessingOnARepeatedBatch) {
  const Model model = tiny_model();
  const Batch batch = counting_batch(model, 4);
  Lockstep<float> run(model, StepOptions{}, {2, 1, 2, 1}, tiny_seed);
  AdamW optimizer;
  optimizer.learning_rate = 2e-2;

  const double first = run.step(batch, optimizer).loss;
  double last = first;
  for (int i = 1; i < 20; ++i) last = run.step(batch, optimizer).loss;

  EXPECT_NEAR(first, std::log(11.0), 0.05);  // small weights guess among 11 words
  EXPECT_LT(last, 0.6 * first);
}

TEST(Training, EveryGridStartsFromTheSameWeights) {
  const Lockstep<float> one(tiny_model(), StepOptions{}, {1, 1, 1, 1}, tiny_seed);
  const Lockstep<float> many(tiny_model(), StepOptions{}, {4, 2, 3, 1}, tiny_seed);
  const Lockstep<float> other(tiny_model(), StepOptions{}, {1, 1, 1, 1}, tiny_seed + 1);

  for (const std::string& parameter : one.parameters()) {
    EXPECT_TRUE(one.weight(parameter) == many.weight(parameter)) << parameter;
  }
  EXPECT_FALSE(one.weight("table") == other.weight("table"));
}

TEST(Training, InitialWeightsHaveGpt2Deviations) {
  const Model model{"wide", 2, 96, 4, 8, 64};
  const Lockstep<double> run(model, StepOptions{}, {1, 1, 1, 1}, tiny_seed);
  const auto deviation = [&](const std::string& parameter) {
    double squares = 0.0;
    const Matrix<double> weight = run.weight(parameter);
    for (double w : weight.values) {
      squares += w * w;
    }
    return std::sqrt(squares / static_cast<double>(weight.values.size()));
  };

  EXPECT_NEAR(deviation("block0.up.weight"), 0.02, 0.0005);
  EXPECT_NEAR(deviation("block0.down.weight"), 0.01, 0.00025);
  EXPECT_NEAR(deviation("block1.projection.weight"), 0.01, 0.00025);
  EXPECT_NEAR(deviation("table"), 0.02, 0.0005);
  EXPECT_EQ(run.weight("block0.norm1")(0, 3), 1.0);
  EXPECT_EQ(run.weight("final_norm")(1, 3), 0.0);
  EXPECT_EQ(deviation("block0.up.bias"), 0.0);
}

TEST(Training, RefusesABatchThatDoesNotDivide) {
  StepOptions options;
  options.micro_batches = 2;
  Lockstep<double> run(tiny_model(), options, {1, 1, 2, 1}, tiny_seed);

  EXPECT_THAT(refusal([&] { run.step(random_batch(tiny_model(), 6, 1), {}); }),
              HasSubstr("6 sequences does not divide among 2 micro-batches on grid 1x1x2x1; it "
                        "must be a multiple of micro-batches x z x data = 4"));
}

TEST(Training, RefusesGridsThatCutHeadsOrColumns) {
  const auto build = [](const ProcessGrid& grid) {
    return refusal([&] { Lockstep<double>(tiny_model(), StepOptions{}, grid, tiny_seed); });
  };

  EXPECT_THAT(build({3, 1, 1, 1}), HasSubstr("x must divide the number of heads"));
  EXPECT_THAT(build({1, 5, 1, 1}), HasSubstr("y must divide the hidden size"));
}

TEST(Training, RefusesBatchesOfWrongWords) {
  Lockstep<double> run(tiny_model(), StepOptions{}, {1, 1, 1, 1}, tiny_seed);
  Batch unknown = random_batch(tiny_model(), 2, 1);
  unknown.targets[3] = 11;
  Batch truncated = random_batch(tiny_model(), 2, 1);
  truncated.tokens.pop_back();

  EXPECT_THAT(refusal([&] { run.step(unknown, {}); }),
              HasSubstr("token 11 is outside the vocabulary of 11 words"));
  EXPECT_THAT(refusal([&] { run.step(truncated, {}); }),
              HasSubstr("needs 10 tokens and as many targets, not 9"));
}

TEST(Training, RefusesNamesOfNoParameter) {
  Lockstep<double> run(tiny_model(), StepOptions{}, {1, 1, 1, 1}, tiny_seed);

  EXPECT_THAT(refusal([&] { run.weight("block9.up.weight"); }), HasSubstr("has no parameter"));
  EXPECT_THAT(refusal([&] { run.gradient("table"); }), HasSubstr("no step has given a gradient"));
}

}  // namespace
}  // namespace fourfold::tests
