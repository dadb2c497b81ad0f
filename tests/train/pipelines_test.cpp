// Pipelines on real ranks equal the referee bit by bit, in every order, with messages posted ahead
// or not, over every transport and on a device whose memory MPI does not reach.
#include <gtest/gtest.h>

#include "tests/train/apart_backend.hpp"
#include "tests/train/bitwise.hpp"

namespace fourfold::tests {
namespace {

struct OfStage {
  PipelineOrder order = PipelineOrder::one_f_one_b;
  std::int64_t chunks = 1;
};
constexpr std::array<OfStage, 5> orders{{{PipelineOrder::one_f_one_b, 1},
                                         {PipelineOrder::gpipe, 1},
                                         {PipelineOrder::interleaved, 2},
                                         {PipelineOrder::zero_bubble, 1},
                                         {PipelineOrder::message_driven, 1}}};

// Layers that the stages do not share evenly, and as many micro-batches as stages.
Case pipeline(const ProcessGrid& grid, const OfStage& order, std::mt19937& random) {
  const std::int64_t stages = grid.extent(Axis::pipe);
  Case what;
  what.grid = grid;
  what.model.layers = stages * order.chunks + 1;
  what.options = random_options(random, stages);
  what.options.precision = random() % 2 == 0 ? Precision::fp32 : Precision::bf16;
  what.options.order = order.order;
  what.options.chunks = order.chunks;
  what.options.cut_messages = random() % 2 == 0;
  what.sequences = stages * grid.extent(Axis::z) * grid.extent(Axis::data);
  return what;
}

// Every case of the grids there are, and of those of 8 ranks every fourth.
std::vector<Case> pipelines() {
  std::mt19937 random(5);
  std::vector<Case> cases;
  for (const ProcessGrid& grid : pipelines_of_all_ranks(8)) {
    for (const OfStage& order : orders) {
      if (grid.extent(Axis::pipe) * order.chunks > 8) continue;
      cases.push_back(pipeline(grid, order, random));
    }
  }
  if (size_of(MPI_COMM_WORLD) <= 4) return cases;
  std::vector<Case> some;
  for (std::size_t i = 2; i < cases.size(); i += 4) some.push_back(cases[i]);
  return some;
}

// One of each order.
std::vector<Case> some_pipelines() {
  std::vector<Case> some;
  const std::vector<Case> all = pipelines();
  const std::size_t step = std::max<std::size_t>(1, all.size() / 4);
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

// Every transport but the library carries all of them, which adds in an order of its own: that of
// the referee where two add.
std::vector<Means> means_of(const ProcessGrid& grid) {
  std::vector<Means> means{{}, {TransportKind::window, ProgressMode::tiles}};
  const auto of_two = [&](Axis axis) { return grid.extent(axis) <= 2; };
  if (std::ranges::all_of(all_axes, of_two)) {
    means.push_back({TransportKind::library, ProgressMode::none});
  }
  return means;
}

TEST(Pipelines, EqualTheRefereeInEveryOrderOverEveryTransport) {
  std::vector<Compared> all;
  for (Case what : pipelines()) {
    what.steps = 1 + static_cast<std::int64_t>(all.size() / 2 % 2);
    what.options.overlap.messages = true;
    all.push_back({what, means_of(what.grid)});
    what.steps = 1;
    what.options.overlap.messages = false;
    all.push_back({what});
  }
  expect_bitwise_equal(all);
}

TEST(Pipelines, EqualTheRefereeInEveryProgressMode) {
  std::vector<Compared> all;
  for (Case what : some_pipelines()) {
    what.steps = 1;
    all.push_back({what,
                   {{TransportKind::ring, ProgressMode::thread},
                    {TransportKind::ring, ProgressMode::tiles}}});
  }
  expect_bitwise_equal(all);
}

TEST(Pipelines, TrainTheSameBitsOnADeviceOfItsOwnMemory) {
  for (const Case& what : some_pipelines()) {
    SCOPED_TRACE(described(what));
    ReferenceBackend kernels, plain_backend;
    ApartBackend apart_backend(kernels);
    OneRun plain(what, {}, plain_backend), apart(what, {}, apart_backend);
    expect_same_bits(apart, plain);
    EXPECT_GT(apart.channels.staged_bytes(), 0);
  }
}

}  // namespace
}  // namespace fourfold::tests
