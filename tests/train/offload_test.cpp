// An optimizer on the host trains on real ranks what one on the device trains, bit by bit, also
// where the device's memory is out of the host's reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/apart_backend.hpp"
#include "tests/train/bitwise.hpp"
#include "tests/train/made_up_weights.hpp"

namespace fourfold::tests {
namespace {

std::vector<Case> cases() {
  std::vector<Case> result;
  std::vector<ProcessGrid> grids = some_grids();
  for (const ProcessGrid& grid : pipelines_of_all_ranks(2)) grids.push_back(grid);
  std::int64_t number = 0;
  for (const ProcessGrid& grid : grids) {
    Case what;
    what.grid = grid;
    what.model.layers = grid.extent(Axis::pipe) + 1;
    what.options.precision = number % 2 == 0 ? Precision::bf16 : Precision::fp32;
    what.options.zero = number % 4;
    what.options.offload_bucket = 5 + 97 * (number % 3);  // ragged, and larger than some blocks
    what.sequences = 2 * grid.extent(Axis::z) * grid.extent(Axis::data) * grid.extent(Axis::x);
    result.push_back(what);
    ++number;
  }
  return result;
}

TEST(Offload, EqualsTheReferee) {
  expect_bitwise_equal(cases());
}

TEST(Offload, TrainsWhatAnOptimizerOnTheDeviceTrains) {
  for (const Case& what : cases()) {
    Case kept = what;
    kept.options.offload_bucket = 0;
    ReferenceBackend backend, other_backend;
    ApartBackend apart(other_backend, MemoryReach::device);
    OneRun on_device(kept, {}, backend), on_host(what, {}, backend), out_of_reach(what, {}, apart);

    for (std::int64_t number = 1; number <= what.steps; ++number) {
      const double loss = on_device.step(number).loss;
      EXPECT_EQ(on_host.step(number).loss, loss);
      EXPECT_EQ(out_of_reach.step(number).loss, loss);
    }

    EXPECT_THAT(differences(on_device.weights, on_host.weights), testing::IsEmpty());
    EXPECT_THAT(differences(on_device.weights, out_of_reach.weights), testing::IsEmpty());
    EXPECT_EQ(on_device.weights.bytes_on_host(), 0);
    EXPECT_GT(on_host.weights.bytes_on_host(), on_device.weights.bytes() / 3);
    EXPECT_LT(on_host.weights.bytes(), on_device.weights.bytes());
  }
}

}  // namespace
}  // namespace fourfold::tests
