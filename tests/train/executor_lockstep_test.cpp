// The executor with the reference kernels over our rings equals the referee bit by bit: loss, norm,
// weights, masters and moments, on every grid of the ranks there are.
#include <gtest/gtest.h>

#include "schedule/models/fit.hpp"
#include "tests/shapes.hpp"
#include "tests/train/bitwise.hpp"

namespace fourfold::tests {
namespace {

// What is tried on every grid; `number` counts the grids, so that choices take turns.
using Change = void (*)(Case& what, std::size_t number);

void expect_bitwise_equal_on_every_grid(Change change) {
  std::vector<Case> cases;
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    Case what;
    what.grid = grid;
    change(what, cases.size());
    cases.push_back(what);
  }
  expect_bitwise_equal(cases);
}

TEST(ExecutorEqualsLockstep, ByDefault) {
  expect_bitwise_equal_on_every_grid(
      [](Case& what, std::size_t) { what.options.precision = Precision::fp32; });
}

TEST(ExecutorEqualsLockstep, WithEveryOptionOtherThanUsual) {
  expect_bitwise_equal_on_every_grid([](Case& what, std::size_t) {
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
  });
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
    what.options.precision = i % 2 == 0 ? Precision::fp32 : Precision::bf16;
    what.sequences = 8 * micro_batches;
    cases.push_back(what);
  }
  expect_bitwise_equal(cases);
}

// Kept, repeated in part and repeated as a whole, in both precisions, with sequences cut where x
// divides their tokens.
TEST(ExecutorEqualsLockstep, WithUnfusedAttention) {
  expect_bitwise_equal_on_every_grid([](Case& what, std::size_t number) {
    what.steps = 1;
    what.options.attention = AttentionKernel::unfused;
    what.options.recompute =
        std::array{Recompute::selective, Recompute::none, Recompute::full}[number % 3];
    what.options.precision = number % 2 == 0 ? Precision::bf16 : Precision::fp32;
    what.options.sequence_parallel = true;
    if (find_misfit(what.model, what.grid, what.sequences, what.options) != Misfit::none) {
      what.options.sequence_parallel = false;
    }
  });
}

TEST(ExecutorEqualsLockstep, WithTargetsThatAreLeftOut) {
  expect_bitwise_equal_on_every_grid([](Case& what, std::size_t) {
    what.sequences = 16;
    what.options.micro_batches = 2;
    what.left_out_of = 3;
  });
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

}  // namespace
}  // namespace fourfold::tests
