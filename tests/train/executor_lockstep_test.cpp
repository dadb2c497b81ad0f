// The executor with the reference kernels over our rings equals the referee bit by bit: loss, norm,
// weights, masters and moments, on every grid of the ranks there are.
#include <gtest/gtest.h>

#include "engine/reference/scatter.hpp"
#include "tests/schedule/steps.hpp"
#include "tests/train/one_run.hpp"

namespace fourfold {
namespace {

std::string described(const Case& what) {
  return what.grid.str() + " " + name(what.options.precision) + " " + described(what.options) +
         " M=" + std::to_string(what.options.micro_batches);
}

// Elements of this rank's blocks, padding included, that are not the referee's.
std::int64_t differing_elements(const Weights& weights, const Lockstep<float>& referee) {
  std::int64_t differing = 0;
  for (const Stored& stored : weights.all()) {
    const Matrix<float> expected =
        scatter(stored.shape, weights.grid(), weights.rank(), referee.weight(stored.name));
    const std::vector<float> block = numbers_of(weights.device(), stored.block);
    for (std::int64_t i = 0; i < stored.block.size(); ++i) {
      const float own = block[static_cast<std::size_t>(i)];
      const float other = expected.values[static_cast<std::size_t>(i)];
      if (std::memcmp(&own, &other, sizeof own) != 0) ++differing;
    }
  }
  return differing;
}

void expect_bitwise_equal(const Case& what, const Means& means) {
  SCOPED_TRACE(described(what) + " " + name(means.transport) + " " + name(means.progress));
  const Referee referee(what);
  ReferenceBackend backend;
  OneRun run(what, means, backend);
  for (std::int64_t number = 1; number <= what.steps; ++number) {
    const ExecutedStep step = run.step(number);

    const StepResult& expected = referee.steps[static_cast<std::size_t>(number - 1)];
    EXPECT_EQ(step.loss, expected.loss);
    EXPECT_EQ(step.gradient_norm, expected.gradient_norm);
    EXPECT_GT(step.gradient_norm, optimizer_of_tests().clip_norm) << "nothing is clipped";
  }
  EXPECT_EQ(differing_elements(run.weights, referee.run), 0);
}

// The default schedule, with and without bf16, and one that differs from it in every option.
TEST(ExecutorEqualsLockstep, OnEveryGrid) {
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    Case what;
    what.grid = grid;
    what.options.precision = Precision::fp32;
    expect_bitwise_equal(what, {});
    what.options = {.micro_batches = 2,
                    .precision = Precision::bf16,
                    .recompute = Recompute::none,
                    .overlap = no_overlap,
                    .in_flight_blocks = 1,
                    .weight_gather = WeightGather::keep,
                    .gradient_reduction = GradientReduction::accumulated,
                    .data_reduction = DataReduction::beside_backward,
                    .grad_reduce_precision_z = Precision::fp32,
                    .grad_reduce_precision_data = Precision::bf16};
    what.sequences = 16;
    expect_bitwise_equal(what, {});
  }
}

TEST(ExecutorEqualsLockstep, ForRandomOptions) {
  std::mt19937 random(11);
  const std::vector<ProcessGrid> grids = grids_of_all_ranks();
  for (int i = 0; i < 12; ++i) {
    Case what;
    what.grid = grids[random() % grids.size()];
    const std::int64_t micro_batches = 1 + i % 3;
    what.options = random_options(random, micro_batches);
    what.options.precision = i % 2 == 0 ? Precision::fp32 : Precision::bf16;
    what.sequences = 8 * micro_batches;
    expect_bitwise_equal(what, {});
  }
}

// Windows of shared memory add in the rings' order.
TEST(ExecutorEqualsLockstep, OverWindowsToo) {
  for (const ProcessGrid& grid : some_grids()) {
    Case what;
    what.grid = grid;
    what.steps = 1;
    expect_bitwise_equal(what, {Transport::window, ProgressMode::none});
  }
}

}  // namespace
}  // namespace fourfold
