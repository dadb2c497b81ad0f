// The forward pass alone, on the weights that are being trained: its loss is what the next step
// reports, and its logits are what the loss was made of.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/refusal.hpp"
#include "tests/train/one_run.hpp"

namespace fourfold::tests {
namespace {

// All logits of the batch, put together from every rank; ranks along y hold copies.
std::vector<double> all_logits(const Case& what, const Executor& executor, std::int64_t rank) {
  const Tensor own = executor.logits();
  const std::int64_t tokens = what.sequences * what.model.sequence;
  const Part rows = part_of(tokens, what.grid, rank, {Axis::data, Axis::z});
  const Part cols = part_of(what.model.vocabulary, what.grid, rank, {Axis::x});
  std::vector<double> all(static_cast<std::size_t>(tokens * what.model.vocabulary), 0.0);
  for (std::int64_t r = 0; r < rows.extent; ++r) {
    for (std::int64_t c = 0; c < cols.valid; ++c) {
      all[static_cast<std::size_t>((rows.first + r) * what.model.vocabulary + cols.first + c)] =
          own.fp32()[r * own.cols + c] / static_cast<double>(what.grid.extent(Axis::y));
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, all.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  return all;
}

double cross_entropy(const std::vector<double>& logits, const Batch& batch,
                     std::int64_t vocabulary) {
  double loss = 0.0;
  const auto columns = static_cast<std::size_t>(vocabulary);
  for (std::size_t token = 0; token < batch.targets.size(); ++token) {
    double sum = 0.0;
    for (std::size_t c = 0; c < columns; ++c) sum += std::exp(logits[token * columns + c]);
    loss +=
        std::log(sum) - logits[token * columns + static_cast<std::size_t>(batch.targets[token])];
  }
  return loss / static_cast<double>(batch.targets.size());
}

// On one stage, and through all stages of a pipeline.
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
      if (stages > 1) continue;
      EXPECT_NEAR(
          cross_entropy(all_logits(what, evaluation, run.rank), batch, what.model.vocabulary),
          evaluated.loss, 1e-5);
    }
  }
}

std::string said(const std::function<void()>& call) {
  return refusal<std::invalid_argument>(call);
}

TEST(ExecutorRefusals, SayWhatDoesNotFit) {
  Case what;
  what.grid = {1, 1, 1, size_of(MPI_COMM_WORLD)};
  ReferenceBackend backend;
  OneRun run(what, {}, backend);
  const auto said_of = [&](const StepOptions& options, std::int64_t sequences) {
    return said([&] {
      Executor(what.model, issue(record_step(what.model, options), options), sequences,
               {run.weights, backend, communicators(run.channels, run.schedule.program), {}});
    });
  };
  StepOptions other = what.options;
  other.precision = Precision::fp32;
  Batch strange = random_batch(what.model, what.sequences, 1);
  std::ranges::fill(strange.targets, 11);

  EXPECT_EQ(said_of(what.options, what.sequences), "accepted");
  EXPECT_NE(said_of(what.options, 0), "accepted");
  EXPECT_NE(said_of(other, what.sequences), "accepted");
  for (const LocalBatch& batch :
       {LocalBatch{what.sequences, {1, 2}, {2, 3}}, local_batch(strange, what, run.rank)}) {
    EXPECT_NE(said([&] { run.executor.step(batch, {}, 1); }), "accepted");
  }
}

// Communicators of more ranks than an axis has, of a single one, and none; but no channel needs one
// member.
TEST(ExecutorRefusals, NameTheChannelWhoseMembersAreNotThoseOfItsAxis) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  if (ranks == 1) return;  // nothing is cut
  const ProcessGrid two_axes(1, 1, 2, ranks / 2), along_x(ranks, 1, 1, 1), along_z(1, 1, ranks, 1);
  const Channel x{Axis::x, ""}, data{Axis::data, ""}, gather{Axis::z, "gather"},
      reduce{Axis::z, "reduce"};
  Case what;
  ReferenceBackend backend;
  const auto said_with = [&](const Channel& channel, const ProcessGrid* other) {
    OneRun run(what, {}, backend);
    const Program& program = run.schedule.program;
    std::vector<Communicator*> all = communicators(run.channels, program);
    Channels channels(other == nullptr ? what.grid : *other, program.channels, TransportKind::ring,
                      ProgressMode::none, backend.memory());
    const auto number = std::ranges::find(program.channels, channel) - program.channels.begin();
    all.at(static_cast<std::size_t>(number)) = other == nullptr ? nullptr : &channels[channel];
    return said([&] {
      Executor(what.model, run.schedule, what.sequences, {run.weights, backend, all, {}});
    });
  };
  const auto sentence = [&](const Channel& channel) {
    return "executor: channel " + name(channel) + " needs " +
           std::to_string(what.grid.extent(channel.axis)) + " members on grid " + what.grid.str();
  };

  what.grid = {1, 1, 1, ranks};
  EXPECT_EQ(said_with(data, &what.grid), "accepted");
  EXPECT_EQ(said_with(data, &along_x), sentence(data));
  EXPECT_EQ(said_with(data, nullptr), sentence(data));
  EXPECT_EQ(said_with(x, nullptr), "accepted");
  if (ranks < 4) return;
  what.grid = two_axes;
  for (const Channel& channel : {gather, reduce}) {
    EXPECT_EQ(said_with(channel, &along_z), sentence(channel));
  }
}

TEST(ExecutorRefusals, SayWhatIsWrongWithAPipeline) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  if (ranks == 1) return;  // no pipeline
  Case what;
  what.grid = {1, 1, 1, 1, ranks};
  what.model.layers = what.options.micro_batches = what.sequences = ranks;
  ReferenceBackend backend;
  OneRun run(what, {}, backend);
  const Stage own = stage_of(what.grid, run.rank);
  Model few = what.model;
  few.layers = ranks - 1;
  const auto said_of = [&](const Model& model, const Stage& stage) {
    const Schedule schedule = issue(record_step(what.model, what.options, stage), what.options);
    return said([&] {
      Executor(model, schedule, what.sequences,
               {run.weights, backend, communicators(run.channels, run.schedule.program), {}});
    });
  };

  EXPECT_NE(said_of(few, own).find("pipe must be at most the layers"), std::string::npos);
  EXPECT_NE(said_of(what.model, {(own.index + 1) % own.count, own.count}).find("another stage"),
            std::string::npos);
}

}  // namespace
}  // namespace fourfold::tests
