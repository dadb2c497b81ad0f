// ZeRO and sequence parallelism on real ranks equal the referee bit by bit, alone, together and in
// pipelines.
#include <gtest/gtest.h>

#include "tests/train/bitwise.hpp"

namespace fourfold::tests {
namespace {

// A model whose pieces along z and data do not divide, and one whose do.
std::vector<Case> cases() {
  std::mt19937 random(7);
  std::vector<Case> result;
  std::int64_t number = 0;
  for (const ProcessGrid& grid : grids_and_pipelines_of_all_ranks(4)) {
    for (std::int64_t zero : {1, 2, 3}) {
      if (grid.size() == 8 && number++ % 4 != 0) continue;
      const std::int64_t stages = grid.extent(Axis::pipe);
      Case what;
      what.grid = grid;
      what.model.layers = stages + 1;
      what.model.vocabulary = number % 2 == 0 ? 64 : 11;
      what.options = random_options(random, 2);
      what.options.precision = random() % 2 == 0 ? Precision::fp32 : Precision::bf16;
      what.options.zero = zero;
      what.sequences = 2 * grid.extent(Axis::z) * grid.extent(Axis::data) * grid.extent(Axis::x);
      what.options.sequence_parallel = random() % 2 == 0;
      what.steps = 2;
      result.push_back(what);
    }
  }
  return result;
}

TEST(Zero, EqualsTheRefereeOverRingsAndWindows) {
  std::vector<Compared> all;
  for (const Case& what : cases()) {
    all.push_back({what, {{}, {TransportKind::window, ProgressMode::tiles}}});
  }
  expect_bitwise_equal(all);
}

}  // namespace
}  // namespace fourfold::tests
