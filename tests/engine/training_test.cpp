// Training goes downhill, starts alike everywhere, refuses what does not divide, and learns nothing
// of targets that are left out of the loss: it is the mean over the others, on every grid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/tiny.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

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

// Batches and grids are checked as batch_test.cpp says.
TEST(Training, RefusesWhatDoesNotFit) {
  StepOptions options;
  options.micro_batches = 2;
  Lockstep<double> run(tiny_model(), options, {1, 1, 2, 1}, tiny_seed);
  Batch unknown = random_batch(tiny_model(), 4, 1), left_out = unknown;
  unknown.targets[3] = 11;
  left_out.tokens[2] = ignored_target;

  EXPECT_THAT(refusal([&] { run.step(random_batch(tiny_model(), 6, 1), {}); }),
              HasSubstr("6 sequences does not divide among 2 micro-batches on grid 1x1x2x1"));
  EXPECT_THAT(refusal([&] { run.step(unknown, {}); }), HasSubstr("token 11 is outside"));
  EXPECT_THAT(refusal([&] { run.step(left_out, {}); }), HasSubstr("token -1 is outside"));
  EXPECT_THAT(refusal([] {
                Lockstep<double>(tiny_model(), StepOptions{}, {3, 1, 1, 1}, tiny_seed);
              }),
              HasSubstr("x must divide the number of heads"));
  EXPECT_THAT(refusal([&] { run.weight("block9.up.weight"); }), HasSubstr("has no parameter"));
  EXPECT_THAT(refusal([&] { run.gradient("table"); }), HasSubstr("no step has given a gradient"));
}

// Of 8 sequences of 5 words, the targets of some: unequally many in each half of the batch.
Batch with_targets_left_out(std::uint64_t seed) {
  Batch batch = random_batch(tiny_model(), 8, seed);
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    if (i % 3 == 0 || i < 12) batch.targets[i] = ignored_target;
  }
  return batch;
}

AdamW plain() {
  AdamW optimizer;
  optimizer.learning_rate = 1e-2;
  return optimizer;
}

// The loss is a sum over targets: of the step's 40, those of two batches that share them out.
TEST(LeftOutTargets, LossIsTheMeanOverTheOthers) {
  const Batch some = with_targets_left_out(3);
  Batch others = random_batch(tiny_model(), 8, 3);
  const Batch all = others;
  for (std::size_t i = 0; i < all.targets.size(); ++i) {
    if (some.targets[i] != ignored_target) others.targets[i] = ignored_target;
  }
  const auto loss = [](const Batch& batch) {
    Lockstep<double> run(tiny_model(), StepOptions{}, {1, 1, 1, 1}, tiny_seed);
    roughen(run);
    return run.step(batch, plain()).loss * static_cast<double>(counted_targets(batch.targets));
  };

  EXPECT_NEAR(loss(some) + loss(others), loss(all), 1e-10);
  EXPECT_GT(loss(some), 1.0);
}

TEST(LeftOutTargets, EveryGridLosesAlikeAndLearnsTheSame) {
  const auto run_on = [](const char* grid, std::int64_t micro_batches) {
    StepOptions options;
    options.micro_batches = micro_batches;
    Lockstep<double> run(tiny_model(), options, ProcessGrid::parse(grid), tiny_seed);
    roughen(run);
    std::vector<double> losses;
    for (std::uint64_t step = 0; step < 3; ++step) {
      losses.push_back(run.step(with_targets_left_out(step), plain()).loss);
    }
    return losses;
  };
  const std::vector<double> expected = run_on("1x1x1x1", 1);

  for (const char* grid : {"2x1x1x1", "1x2x1x1", "1x1x2x1", "1x1x1x2", "2x1x2x2"}) {
    const std::vector<double> losses = run_on(grid, 2);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(losses[i], expected[i], 1e-9) << grid;
  }
}

TEST(LeftOutTargets, AllOfThemTeachNothing) {
  Lockstep<double> run(tiny_model(), StepOptions{}, {2, 1, 1, 1}, tiny_seed);
  roughen(run);
  Batch batch = random_batch(tiny_model(), 8, 3);
  batch.targets.assign(batch.targets.size(), ignored_target);

  const StepResult result = run.step(batch, plain());

  EXPECT_EQ(result.loss, 0.0);
  EXPECT_EQ(result.gradient_norm, 0.0);
}

}  // namespace
}  // namespace fourfold::tests
