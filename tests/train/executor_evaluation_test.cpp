// The forward pass alone, on the weights that are being trained: its loss is what the next step
// reports, and its logits are what the loss was made of.
#include <gtest/gtest.h>

#include <algorithm>

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

TEST(ExecutorEvaluation, SharesTheWeightsThatAreTrained) {
  for (const ProcessGrid& grid : some_grids()) {
    SCOPED_TRACE(grid.str());
    Case what;
    what.grid = grid;
    what.options.precision = Precision::fp32;
    ReferenceBackend backend;
    OneRun run(what, {}, backend);
    Executor evaluation(
        what.model, issue(record_evaluation(what.model, what.options), what.options),
        what.sequences,
        {run.weights, backend, communicators(run.channels, run.schedule.program), {}});
    for (std::int64_t number = 1; number <= 2; ++number) {
      const Batch batch =
          random_batch(what.model, what.sequences, static_cast<std::uint64_t>(number));

      const ExecutedStep evaluated = evaluation.step(local_batch(batch, what, run.rank), {}, 0);
      const std::vector<double> logits = all_logits(what, evaluation, run.rank);
      const ExecutedStep trained = run.step(number);

      EXPECT_EQ(evaluated.loss, trained.loss);
      EXPECT_EQ(evaluated.gradient_norm, 0.0);
      EXPECT_NEAR(cross_entropy(logits, batch, what.model.vocabulary), evaluated.loss, 1e-5);
    }
  }
}

TEST(ExecutorRefusals, SayWhatDoesNotFit) {
  Case what;
  what.grid = {1, 1, 1, size_of(MPI_COMM_WORLD)};
  ReferenceBackend backend;
  OneRun run(what, {}, backend);
  const auto executor = [&](const Schedule& schedule, std::int64_t sequences) {
    return Executor(what.model, schedule, sequences,
                    {run.weights, backend, communicators(run.channels, run.schedule.program), {}});
  };

  LocalBatch too_few{what.sequences, {1, 2}, {2, 3}};
  EXPECT_THROW(run.executor.step(too_few, {}, 1), std::invalid_argument);
  Batch strange = random_batch(what.model, what.sequences, 1);
  std::fill(strange.targets.begin(), strange.targets.end(), 11);
  EXPECT_THROW(run.executor.step(local_batch(strange, what, run.rank), {}, 1),
               std::invalid_argument);
  EXPECT_THROW(executor(run.schedule, 0), std::invalid_argument);
  StepOptions other = what.options;
  other.precision = Precision::fp32;
  EXPECT_THROW(executor(issue(record_step(what.model, other), other), what.sequences),
               std::invalid_argument);
}

// Of the program, the channel along an axis for a purpose.
std::size_t number_of(const Channel& channel, const Program& program) {
  return static_cast<std::size_t>(std::ranges::find(program.channels, channel) -
                                  program.channels.begin());
}

// Communicators of as many ranks as the job has, and of a single rank, for an axis that is cut.
TEST(ExecutorRefusals, NameTheChannelWhoseMembersAreNotThoseOfItsAxis) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  if (ranks == 1) return;  // nothing is cut
  Case what;
  what.grid = {1, 1, 1, ranks};
  what.sequences = 8;
  ReferenceBackend backend;
  OneRun run(what, {}, backend);
  const Program& program = run.schedule.program;
  Channels along_x({ranks, 1, 1, 1}, program.channels, TransportKind::ring, ProgressMode::none,
                   backend.memory());
  const auto refusal = [&](const std::vector<Communicator*>& all) -> std::string {
    try {
      Executor(what.model, run.schedule, what.sequences, {run.weights, backend, all, {}});
    } catch (const std::invalid_argument& refused) {
      return refused.what();
    }
    return "nothing was refused";
  };
  const Channel data{Axis::data, ""};
  std::vector<Communicator*> of_one = communicators(run.channels, program);
  of_one.at(number_of(data, program)) = &along_x[data];
  std::vector<Communicator*> missing = communicators(run.channels, program);
  missing.at(number_of(data, program)) = nullptr;
  std::vector<Communicator*> idle_missing = communicators(run.channels, program);
  idle_missing.at(number_of({Axis::x, ""}, program)) = nullptr;
  const std::string sentence = "executor: channel data needs " + std::to_string(ranks) +
                               " members on grid " + what.grid.str();

  EXPECT_EQ(refusal(of_one), sentence);
  EXPECT_EQ(refusal(missing), sentence);
  EXPECT_EQ(refusal(communicators(run.channels, program)), "nothing was refused");
  EXPECT_EQ(refusal(idle_missing), "nothing was refused") << "no channel needs one member";
}

// Where two axes are cut, a communicator of all ranks has too many members for either.
TEST(ExecutorRefusals, TooManyMembersAreAsWrongAsTooFew) {
  const std::int64_t ranks = size_of(MPI_COMM_WORLD);
  if (ranks < 4) return;
  Case what;
  what.grid = {1, 1, 2, ranks / 2};
  what.sequences = 8;
  ReferenceBackend backend;
  OneRun run(what, {}, backend);
  const Program& program = run.schedule.program;
  Channels along_z({1, 1, ranks, 1}, program.channels, TransportKind::ring, ProgressMode::none,
                   backend.memory());
  for (const char* purpose : {"gather", "reduce"}) {
    const Channel channel{Axis::z, purpose};
    std::vector<Communicator*> all = communicators(run.channels, program);
    all.at(number_of(channel, program)) = &along_z[channel];

    EXPECT_THROW(
        Executor(what.model, run.schedule, what.sequences, {run.weights, backend, all, {}}),
        std::invalid_argument)
        << name(channel);
  }
}

}  // namespace
}  // namespace fourfold::tests
