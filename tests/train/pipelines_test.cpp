// Pipelines on real ranks equal the referee bit by bit, in every order, with messages posted ahead
// or not, over every transport.
#include <gtest/gtest.h>

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

// The forward pass alone, on the weights that are being trained, has the loss that the next step
// reports: on one stage, and through all stages of a pipeline.
TEST(ExecutorEvaluation, SharesTheWeightsThatAreTrained) {
  std::vector<ProcessGrid> grids = some_grids();
  for (const ProcessGrid& grid : pipelines_of_all_ranks(8)) grids.push_back(grid);
  std::int64_t number_of_grid = 0;
  for (const ProcessGrid& grid : grids) {
    SCOPED_TRACE(grid.str());
    const std::int64_t stages = grid.extent(Axis::pipe);
    Case what;
    what.grid = grid;
    what.options.precision = Precision::fp32;
    if (stages > 1) {
      what.options.recompute = Recompute::none;
      what.options.micro_batches = stages;
      if (number_of_grid++ % 2 == 0) {
        what.options.order = PipelineOrder::interleaved;
        what.options.chunks = 2;
      }
      what.model.layers = stages * what.options.chunks + 1;
    }
    Case whole = what;
    whole.options.micro_batches = 1;
    ReferenceBackend backend;
    OneRun run(what, {}, backend);
    const Stage stage = stage_of(grid, run.rank);
    const Schedule forward =
        issue(record_evaluation(what.model, what.options, stage), what.options);
    Executor evaluation(what.model, forward, what.sequences,
                        {run.weights, backend, communicators(run.channels, forward.program), {}});
    for (std::int64_t number = 1; number <= 2; ++number) {
      const Batch batch = batch_of(what, number);

      const ExecutedStep evaluated = evaluation.step(local_batch(batch, whole, run.rank), {}, 0);
      const ExecutedStep trained = run.step(number);

      EXPECT_EQ(evaluated.gradient_norm, 0.0);
      EXPECT_EQ(evaluation.logits().data != nullptr, stage.last());
      EXPECT_NEAR(evaluated.loss, trained.loss, stages > 1 ? 1e-5 * trained.loss : 0.0);
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
