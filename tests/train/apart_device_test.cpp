// Training on a device whose memory nobody but its backend reaches: steps, validation, texts and
// checkpoints are those of the processor, bit by bit, and what MPI moves is counted.
#include <gtest/gtest.h>

#include "engine/cpu/tuned_backend.hpp"
#include "tests/train/apart_backend.hpp"
#include "tests/train/bitwise.hpp"
#include "tests/train/small_run.hpp"

namespace fourfold::tests {
namespace {

void expect_the_processors_bits(const Case& what, const Means& means, MemoryReach reach) {
  SCOPED_TRACE(what.grid.str() + " " + name(what.options.precision) + " " + name(means.progress));
  ReferenceBackend kernels, plain_backend;
  ApartBackend apart_backend(kernels, reach);
  OneRun plain(what, means, plain_backend), apart(what, means, apart_backend);
  expect_same_bits(apart, plain);
  EXPECT_EQ(plain.channels.staged_bytes(), 0);
}

// Also where a thread that moves messages asks it, and where MPI reaches it.
TEST(ApartDevice, TrainsTheBitsOfTheProcessor) {
  Case what;
  what.options.precision = Precision::fp32;
  for (const ProcessGrid& grid : some_grids()) {
    what.grid = grid;
    expect_the_processors_bits(what, {}, MemoryReach::device);
  }
  what.grid = some_grids().front();
  what.options.precision = Precision::bf16;
  for (const ProgressMode mode : {ProgressMode::none, ProgressMode::thread, ProgressMode::tiles}) {
    expect_the_processors_bits(what, {TransportKind::ring, mode}, MemoryReach::device);
  }
  expect_the_processors_bits(what, {}, MemoryReach::mpi);
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
