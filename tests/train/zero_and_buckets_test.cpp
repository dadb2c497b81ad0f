// Every stage of ZeRO on real ranks, with buckets along data and without, with sequence parallelism
// and in pipelines, equals the referee bit by bit; and buckets train what no buckets train.
#include <gtest/gtest.h>

#include "tests/train/bitwise.hpp"

namespace fourfold::tests {
namespace {

// None; rooms for one weight, for some of a block, for one block and for all blocks.
std::vector<std::int64_t> rooms(const Model& model) {
  const std::int64_t square = model.hidden * model.hidden;
  return {0, 1, 8 * square, 12 * square, 100 * square};
}

// A model whose pieces along z and data do not divide, and one whose do.
std::vector<Case> cases() {
  std::mt19937 random(11);
  std::vector<Case> result;
  std::size_t number = 0;
  for (const ProcessGrid& grid : grids_and_pipelines_of_all_ranks(4)) {
    for (std::int64_t zero : {0, 1, 2, 3}) {
      if (grid.size() >= 4 && number++ % (grid.size() > 4 ? 5 : 3) != 0) continue;
      const std::int64_t stages = grid.extent(Axis::pipe);
      Case what;
      what.grid = grid;
      what.model.layers = 2 * stages + 1;
      what.model.vocabulary = number % 2 == 0 ? 64 : 11;
      what.options = random_options(random, 2);
      what.options.precision = random() % 2 == 0 ? Precision::fp32 : Precision::bf16;
      what.options.zero = zero;
      what.options.data_bucket = rooms(what.model)[random() % 5];
      what.options.sequence_parallel = random() % 2 == 0;
      what.options.offload_bucket = random() % 3 == 0 ? 50 : 0;
      what.sequences = 2 * grid.extent(Axis::z) * grid.extent(Axis::data) * grid.extent(Axis::x);
      what.steps = 2;
      result.push_back(what);
    }
  }
  return result;
}

TEST(DataBucket, EqualsTheRefereeOverRingsAndWindows) {
  std::vector<Compared> all;
  for (const Case& what : cases()) {
    all.push_back({what});
    if (what.options.zero == 0) continue;
    all.back().means.push_back({TransportKind::window, ProgressMode::tiles});
  }
  expect_bitwise_equal(all);
}

// The norm is summed up in other groups, which may round in another way. Of many cases some.
TEST(DataBucket, TrainsWhatNoBucketsTrain) {
  const std::vector<Case> all = cases();
  for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 20) {
    const Case& what = all[i];
    Case plain = what;
    plain.options.data_bucket = 0;
    ReferenceBackend backend;
    OneRun with(what, {}, backend), without(plain, {}, backend);

    for (std::int64_t number = 1; number <= what.steps; ++number) {
      const ExecutedStep step = with.step(number);
      const ExecutedStep other = without.step(number);

      EXPECT_NEAR(step.loss, other.loss, 1e-3 * other.loss);
      EXPECT_NEAR(step.gradient_norm, other.gradient_norm, 1e-2 * other.gradient_norm);
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
