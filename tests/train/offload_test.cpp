// An optimizer and activations on the host train on real ranks what they train on the device, bit
// by bit, also where the device's memory is out of the host's reach.
#include <gtest/gtest.h>

#include "tests/train/apart_backend.hpp"
#include "tests/train/bitwise.hpp"

namespace fourfold::tests {
namespace {

// Of one stage, and pipelines of at most so many.
std::vector<ProcessGrid> grids_and_pipelines(std::int64_t most) {
  std::vector<ProcessGrid> grids = some_grids();
  for (const ProcessGrid& grid : pipelines_of_all_ranks(most)) grids.push_back(grid);
  return grids;
}

// Of 8 ranks every third: the referee sees all.
std::vector<Case> some_of(const std::vector<Case>& all) {
  const std::size_t step = size_of(MPI_COMM_WORLD) > 4 ? 3 : 1;
  std::vector<Case> some;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

// An optimizer there, and inputs of blocks.
std::vector<Case> cases_of_optimizers() {
  std::vector<Case> result;
  std::int64_t number = 0;
  for (const ProcessGrid& grid : grids_and_pipelines(2)) {
    Case what;
    what.grid = grid;
    what.model.layers = grid.extent(Axis::pipe) + 1;
    what.options.precision = number % 2 == 0 ? Precision::bf16 : Precision::fp32;
    what.options.zero = number % 4;
    what.options.offload_bucket = 5 + 97 * (number++ % 3);  // ragged, and larger than some blocks
    what.sequences = 2 * grid.extent(Axis::z) * grid.extent(Axis::data) * grid.extent(Axis::x);
    result.push_back(what);
  }
  return result;
}

std::vector<Case> cases_of_activations() {
  constexpr std::array orders{PipelineOrder::one_f_one_b, PipelineOrder::gpipe,
                              PipelineOrder::zero_bubble, PipelineOrder::message_driven};
  std::vector<Case> result;
  std::size_t number = 0;
  for (const ProcessGrid& grid : grids_and_pipelines(4)) {
    Case what;
    what.grid = grid;
    what.model.layers = 2 * grid.extent(Axis::pipe);
    what.steps = 1;
    what.options.recompute = Recompute::full;
    what.options.offload_activations = true;
    what.options.precision = number % 2 == 0 ? Precision::bf16 : Precision::fp32;
    what.options.recompute_every = 1 + static_cast<std::int64_t>(number % 3 / 2);
    what.options.micro_batches = 2;
    what.options.order = orders[number++ % orders.size()];
    what.sequences = 2 * grid.extent(Axis::z) * grid.extent(Axis::data);
    result.push_back(what);
  }
  return result;
}

// The device trains what the referee does (covering_test.cpp); the host trains what the device
// does.
TEST(Offload, TrainsWhatIsTrainedWithAllOnTheDevice) {
  for (const bool optimizer : {true, false}) {
    for (const Case& what : some_of(optimizer ? cases_of_optimizers() : cases_of_activations())) {
      SCOPED_TRACE(described(what));
      Case kept = what;
      kept.options.offload_bucket = 0;
      kept.options.offload_activations = false;
      for (const bool in_reach : {true, false}) {
        ReferenceBackend backend, other_backend;
        ApartBackend apart(other_backend, MemoryReach::device);
        Backend& own = apart;
        OneRun on_device(kept, {}, backend);
        OneRun on_host(what, {}, in_reach ? other_backend : own);

        expect_same_bits(on_host, on_device);

        EXPECT_EQ(on_device.weights.bytes_on_host(), 0);
        EXPECT_EQ(on_device.executor.host_arena_bytes(), 0);
        if (optimizer) {
          EXPECT_GT(on_host.weights.bytes_on_host(), on_device.weights.bytes() / 3);
          EXPECT_LT(on_host.weights.bytes(), on_device.weights.bytes());
        } else {
          EXPECT_GT(on_host.executor.host_arena_bytes(), 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
