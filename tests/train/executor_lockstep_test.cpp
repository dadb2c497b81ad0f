// The executor with the reference kernels over our rings equals the referee bit by bit: loss, norm,
// weights, masters and moments, on every grid of the ranks there are.
#include <gtest/gtest.h>

#include "schedule/models/fit.hpp"
#include "tests/shapes.hpp"
#include "tests/train/bitwise.hpp"

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

}  // namespace
}  // namespace fourfold::tests
