// Training on a device whose memory nobody but its backend reaches: steps, checkpoints, validation
// and texts are those of the processor, bit by bit, and what MPI moves is counted on its way
// through the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cpu/tuned_backend.hpp"
#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "tests/pmpi_counter.hpp"
#include "tests/train/apart_backend.hpp"
#include "tests/train/bitwise.hpp"
#include "tests/train/small_run.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::int64_t on_all_ranks(std::int64_t own) {
  std::int64_t sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

std::int64_t bytes_sent() {
  std::int64_t sent = 0;
  for (const auto& [name, traffic] : mpi_traffic()) sent += traffic.sent;
  return sent;
}

void expect_the_processors_bits(const Case& what, const Means& means, MemoryReach reach) {
  SCOPED_TRACE(what.grid.str() + " " + name(what.options.precision) + " " + name(means.progress));
  ReferenceBackend kernels, plain_backend;
  ApartBackend apart_backend(kernels, reach);
  OneRun plain(what, means, plain_backend), apart(what, means, apart_backend);
  expect_same_bits(apart, plain);
  EXPECT_EQ(plain.channels.staged_bytes(), 0);
}

TEST(ApartDevice, TrainsTheBitsOfTheProcessor) {
  Case what;
  for (const ProcessGrid& grid : some_grids()) {
    what.grid = grid;
    what.options.precision = Precision::fp32;
    expect_the_processors_bits(what, {}, MemoryReach::device);
  }
  what.grid = some_grids().front();
  what.options.precision = Precision::bf16;
  expect_the_processors_bits(what, {}, MemoryReach::device);
}

TEST(ApartDevice, MayBeAskedByAThreadThatMovesMessages) {
  Case what;
  what.grid = some_grids().front();
  what.steps = 1;
  expect_the_processors_bits(what, {TransportKind::ring, ProgressMode::thread},
                             MemoryReach::device);
  expect_the_processors_bits(what, {TransportKind::ring, ProgressMode::tiles}, MemoryReach::device);
}

TEST(ApartDevice, IsWaitedForBeforeMpiReachesIt) {
  Case what;
  what.grid = some_grids().front();
  expect_the_processors_bits(what, {}, MemoryReach::mpi);
}

// Every byte of a ring leaves one device and comes to another.
TEST(ApartDevice, StagesWhatItsRanksSendAndReceive) {
  for (const ProcessGrid& grid : some_grids()) {
    Case what;
    what.grid = grid;
    ReferenceBackend kernels;
    ApartBackend backend(kernels);
    OneRun run(what, {}, backend);
    const std::int64_t before = run.channels.staged_bytes();
    reset_mpi_traffic();

    run.step(1);

    const std::int64_t sent = bytes_sent();
    EXPECT_EQ(on_all_ranks(run.channels.staged_bytes() - before), 2 * on_all_ranks(sent))
        << grid.str();
    EXPECT_EQ(sent > 0, grid.size() > 1) << grid.str();
  }
}

TEST(ApartDevice, RefusesWeightsOfAnother) {
  Case what;
  what.grid = {1, 1, 1, world_size()};
  ReferenceBackend kernels;
  ApartBackend backend(kernels);
  OneRun run(what, {}, backend);
  ReferenceBackend other;

  EXPECT_THAT(refusal([&] {
                Executor(
                    what.model, run.schedule, what.sequences,
                    {run.weights, other, communicators(run.channels, run.schedule.program), {}});
              }),
              HasSubstr("weights are in the memory of another device"));
}

TEST(ApartDevice, WritesTheSameCheckpointAndReadsItBack) {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const SharedFolder folder, apart_folder;
    const ProcessGrid grid = some_grids().front();
    const Program program = training_program(small_model(), precision);
    ApartMemory device;
    const Weights weights = made_up_weights(program, grid, 1);
    const std::string path = Checkpoints(folder.path()).write(made_up_state(10), weights);

    const std::string apart =
        Checkpoints(apart_folder.path())
            .write(made_up_state(10), made_up_weights(program, grid, 1, device));
    Weights read = made_up_weights(program, grid, 2, device);
    read_checkpoint(folder.path(), small_model(), read);

    EXPECT_EQ(content_of(apart), content_of(path));
    EXPECT_THAT(differences(read, weights), IsEmpty());
  }
}

// A run with validation, texts and checkpoints, on a backend.
struct WholeRun {
  TrainOutcome outcome;
  std::string checkpoint;             // its data
  std::vector<nlohmann::json> steps;  // of the log
};

WholeRun whole_run(Backend& backend, const ProcessGrid& grid) {
  const SharedFolder folder;
  TrainSettings settings = small_run(folder);
  settings.options = {};
  settings.folder = folder.path();
  settings.grid = grid;
  settings.length.steps = 2;
  settings.sampling.tokens = 4;
  World world;
  RunLog log;
  if (world.rank() == 0) log.open(log_path(settings), settings.screen);
  const Data data(settings.data, settings.model);
  Channels channels(grid, record_step(settings.model, settings.options).channels,
                    TransportKind::ring, ProgressMode::tiles, backend.memory());
  Weights weights(record_step(settings.model, settings.options), grid, world.rank(),
                  backend.memory());
  weights.initialise(settings.model, settings.seed);
  TrainingState state;
  state.model = settings.model;
  state.trainer = nlohmann::json::object();
  WholeRun run;
  run.outcome = Trainer(settings, {world, channels, backend}, data, weights, log)
                    .run(state, RunFacts{}, MemoryGrowth());
  world.barrier();
  std::string data_file = run.outcome.checkpoint;
  data_file.replace(data_file.size() - 5, 5, ".safetensors");
  run.checkpoint = content_of(data_file);
  run.steps = log_of(settings, "step");
  return run;
}

TEST(ApartDevice, ValidatesDrawsTextsAndSavesAsTheProcessorDoes) {
  const ProcessGrid grid = some_grids().front();
  TunedBackend kernels, plain;
  ApartBackend apart(kernels);

  const WholeRun expected = whole_run(plain, grid);
  const WholeRun run = whole_run(apart, grid);

  EXPECT_EQ(run.outcome.losses, expected.outcome.losses);
  EXPECT_EQ(run.outcome.validation_loss, expected.outcome.validation_loss);
  EXPECT_EQ(run.outcome.texts, expected.outcome.texts);
  EXPECT_EQ(run.checkpoint, expected.checkpoint);
  ASSERT_EQ(run.steps.size(), 2U);
  for (const nlohmann::json& step : run.steps) {
    EXPECT_EQ(step.contains("staged_B"), grid.size() > 1) << step;
  }
  for (const nlohmann::json& step : expected.steps) EXPECT_FALSE(step.contains("staged_B")) << step;
}

}  // namespace
}  // namespace fourfold::tests
