// The executor with the reference kernels over our rings equals the referee bit by bit: loss, norm,
// weights, masters and moments, on every grid of the ranks there are.
#include <gtest/gtest.h>

#include "schedule/models/fit.hpp"
#include "tests/shapes.hpp"
#include "tests/train/bitwise.hpp"
#include "tests/train/one_run.hpp"
#include "tests/train/token_files.hpp"

namespace fourfold::tests {
namespace {

// In fp32, and in bf16 with targets that are left out.
TEST(ExecutorEqualsLockstep, OnEveryGrid) {
  std::vector<Case> cases;
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    Case what;
    what.grid = grid;
    what.options.precision = Precision::fp32;
    cases.push_back(what);
    what.options.precision = Precision::bf16;
    what.options.micro_batches = 2;
    what.sequences = 16;
    what.left_out_of = 3;
    cases.push_back(what);
  }
  expect_bitwise_equal(cases);
}

TEST(ExecutorEqualsLockstep, ForRandomOptions) {
  std::vector<Case> cases;
  std::mt19937 random(11);
  const std::vector<ProcessGrid> grids = grids_of_all_ranks();
  for (int i = 0; i < 12; ++i) {
    Case what;
    what.grid = grids[random() % grids.size()];
    const std::int64_t micro_batches = 1 + i % 3;
    what.options = recomputing_some(random, random_options(random, micro_batches));
    if (random() % 2 == 0) what.options.attention = AttentionKernel::unfused;
    what.options.precision = i % 2 == 0 ? Precision::fp32 : Precision::bf16;
    what.sequences = 8 * micro_batches;
    cases.push_back(what);
  }
  expect_bitwise_equal(cases);
}

// Shapes of blocks in turn, so that each runs on some grids, and a Llama on all.
TEST(ExecutorEqualsLockstep, WithBlocksOfOtherShapes) {
  std::vector<Case> cases;
  std::size_t number = 0;
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    Case what;
    const std::vector<Model> shapes = shapes_of(what.model);
    Model llama = as_llama(what.model);
    llama.key_value_heads = 8;
    // Of what has buffers of its own every grid tries all, of the rest one.
    std::vector<Model> tried = beyond_llama(what.model);
    tried.insert(tried.end(), {llama, shapes[number++ % shapes.size()]});
    for (const Model& model : tried) {
      what.model = model;
      what.grid = grid;
      what.steps = 1;
      what.options.precision = number % 2 == 0 ? Precision::bf16 : Precision::fp32;
      if (find_misfit(model, grid) == Misfit::none) cases.push_back(what);
    }
  }
  expect_bitwise_equal(cases);
}

// From a file of 32-bit tokens on one and on two ranks, whichever axis they lie along.
TEST(ExecutorEqualsLockstep, OnMoreWordsThan16BitsCount) {
  if (world_size() > 2) GTEST_SKIP() << "two ranks cut the vocabulary";
  const SharedFolder folder;
  DataOptions options;
  std::vector<std::uint32_t> tokens;  // of all sizes up to the last word of the vocabulary
  for (std::uint32_t i = 0; i < 400; ++i) tokens.push_back((69'999 + i * 7'919) % 70'000);
  options.files = {folder.write("a.bin", bytes_of(tokens))};
  options.token_bits = 32;
  Case what;
  what.model = {"wide", 1, 8, 2, 4, 70'000};
  what.options.precision = Precision::fp32;
  what.sequences = 4;
  const Data data(options, what.model);
  std::int32_t largest = 0;
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    SCOPED_TRACE(grid.str());
    what.grid = grid;
    ReferenceBackend backend;
    OneRun run(what, {}, backend);
    Lockstep<float> referee(what.model, what.options, grid, run_seed, Rounding::recorded);
    roughen(what.model, referee);
    for (std::int64_t number = 1; number <= 2; ++number) {
      const auto read = [&](const ProcessGrid& on, std::int64_t rank) {
        return data.training((number - 1) * what.sequences, {on, rank, what.sequences, 1});
      };
      const LocalBatch whole = read({1, 1, 1, 1}, 0);

      const ExecutedStep step =
          run.executor.step(read(grid, run.rank), optimizer_of_tests(), number);
      const StepResult expected =
          referee.step({what.sequences, whole.tokens, whole.targets}, optimizer_of_tests());

      largest = std::max(largest, std::ranges::max(whole.tokens));
      EXPECT_NEAR(step.loss, expected.loss, 1e-5 * expected.loss);
      EXPECT_NEAR(step.gradient_norm, expected.gradient_norm, 1e-4 * expected.gradient_norm);
    }
  }
  EXPECT_GT(largest, 65'535);
}

}  // namespace
}  // namespace fourfold::tests
