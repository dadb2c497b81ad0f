// Targets that are left out of the loss: it is the mean over the others, on every grid, and what is
// left out moves no weight.
#include <gtest/gtest.h>

#include "tests/engine/tiny.hpp"

namespace fourfold::tests {
namespace {

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

TEST(LeftOutTargets, ATokenCannotBeLeftOut) {
  Lockstep<double> run(tiny_model(), StepOptions{}, {1, 1, 1, 1}, tiny_seed);
  Batch batch = random_batch(tiny_model(), 8, 3);
  batch.tokens[2] = ignored_target;

  EXPECT_THROW(run.step(batch, plain()), std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
