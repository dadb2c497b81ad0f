// Tokens of 32 bits: a vocabulary that 16 bits cannot count, from the file to the update, beside
// the referee.
#include <gtest/gtest.h>

#include "tests/train/one_run.hpp"
#include "tests/train/token_files.hpp"

namespace fourfold::tests {
namespace {

// From a file of 32-bit tokens on one and on two ranks, whichever axis they lie along.
TEST(WideTokens, TrainAsTheRefereeSays) {
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
