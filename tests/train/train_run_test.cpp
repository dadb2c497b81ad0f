// Whole runs on as many ranks as there are: the loss falls, every grid loses alike, a resumed run
// goes on bit by bit, and the log parses.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "engine/train/run/train.hpp"
#include "tests/train/few_ranks.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using TrainOfReplicas = FewRanks;

std::string write_text(const SharedFolder& folder) {
  const std::string path = folder.path() + "/text.txt";
  if (world_rank() == 0) {
    std::ofstream file(path);
    for (int i = 0; i < 400; ++i) file << "the quick brown fox jumps over the lazy dog\n";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return path;
}

TrainSettings small_run(const SharedFolder& folder, const ProcessGrid& grid) {
  TrainSettings settings;
  settings.model = {"small", 2, 32, 8, 16, 128};
  settings.data.files = {write_text(folder)};
  settings.grid = grid;
  settings.batch = 16;
  settings.options.precision = Precision::fp32;
  settings.options.recompute = Recompute::none;
  settings.length.steps = 8;
  settings.learning_rate = {.peak = 1e-2, .last_part = 0.1, .warm_up_steps = 3};
  settings.validate_every = 4;
  settings.data.validation_words = 512;
  settings.sampling.tokens = 12;
  settings.screen = Screen::silent;
  settings.folder = folder.path() + "/" + grid.str();
  return settings;
}

std::vector<ProcessGrid> grids_of(std::int64_t ranks) {
  switch (ranks) {
    case 1:
      return {{1, 1, 1, 1}};
    case 2:
      return {{1, 1, 1, 2}, {2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1}};
    case 4:
      return {{1, 1, 1, 4}, {2, 1, 2, 1}, {1, 2, 1, 2}};
    default:
      return {{1, 1, 1, ranks}, {2, 2, 2, ranks / 8}};
  }
}

// Called by all ranks: the first writes the texts' lines when the others are done already, and half
// a line is no JSON.
std::vector<nlohmann::json> log_of(const TrainSettings& settings) {
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<nlohmann::json> lines;
  std::ifstream file(log_path(settings));
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::vector<double> learning_rates(const TrainSettings& settings) {
  std::vector<double> rates;
  for (const nlohmann::json& line : log_of(settings)) {
    if (line.at("kind") == "step") rates.push_back(line.at("learning_rate"));
  }
  return rates;
}

TEST(Train, LosesLessThanGuessingByFrequency) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder, grids_of(world.size()).front());
  settings.length.steps = 30;
  settings.sampling.tokens = 0;

  const TrainOutcome outcome = train_model(settings, world);

  const Data data(settings.data, settings.model);
  const double entropy = unigram_entropy(data.validation_words(), settings.model.vocabulary);
  EXPECT_NEAR(outcome.losses.front(), std::log(128.0), 0.5);
  EXPECT_LT(outcome.validation_loss, 0.8 * entropy);
  EXPECT_FALSE(outcome.stopped);
}

TEST(Train, LosesAlikeOnEveryGridOfTheseRanks) {
  const SharedFolder folder;
  World world;
  std::vector<TrainOutcome> outcomes;
  for (const ProcessGrid& grid : grids_of(world.size())) {
    outcomes.push_back(train_model(small_run(folder, grid), world));
  }

  for (const TrainOutcome& outcome : outcomes) {
    ASSERT_EQ(outcome.losses.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(outcome.losses[i], outcomes[0].losses[i], 1e-3) << "step " << i + 1;
    }
    EXPECT_NEAR(outcome.validation_loss, outcomes[0].validation_loss, 1e-3);
  }
}

// A pipeline of two stages, or all ranks on one where there is one.
TrainSettings pipelined_run(const SharedFolder& folder, const World& world) {
  const std::int64_t stages = std::min<std::int64_t>(world.size(), 2);
  TrainSettings settings = small_run(folder, {1, 1, 1, world.size() / stages, stages});
  settings.options.micro_batches = 2;
  settings.checkpoint_every = 4;
  return settings;
}

TEST(Train, LosesAlikeOnPipelinesInEveryOrder) {
  const SharedFolder folder;
  World world;
  TrainSettings plain = small_run(folder, grids_of(world.size()).front());
  plain.model.layers = 4;
  plain.options.micro_batches = 2;  // whose sequences are also those of a look at held-out text
  const TrainOutcome expected = train_model(plain, world);
  for (const PipelineOrder order :
       {PipelineOrder::one_f_one_b, PipelineOrder::gpipe, PipelineOrder::interleaved,
        PipelineOrder::zero_bubble, PipelineOrder::message_driven}) {
    TrainSettings settings = pipelined_run(folder, world);
    const bool of_pipelines =
        order == PipelineOrder::interleaved || order == PipelineOrder::message_driven;
    if (of_pipelines && settings.grid.extent(Axis::pipe) == 1) continue;
    settings.model.layers = 4;
    settings.options.order = order;
    settings.options.chunks = order == PipelineOrder::interleaved ? 2 : 1;
    settings.folder += name(order);
    const TrainOutcome outcome = train_model(settings, world);

    ASSERT_EQ(outcome.losses.size(), 8U);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(outcome.losses[i], expected.losses[i], 1e-3) << name(order) << " step " << i + 1;
    }
    EXPECT_NEAR(outcome.validation_loss, expected.validation_loss, 1e-3);
    EXPECT_EQ(outcome.texts.size(), 2U);
  }
}

// Every rank hears the losses, whichever knows them first.
TEST(Train, SaysTheSameLossesOnEveryStage) {
  const SharedFolder folder;
  World world;
  const TrainOutcome outcome = train_model(pipelined_run(folder, world), world);

  std::vector<double> own = outcome.losses;
  own.push_back(outcome.validation_loss);
  const std::vector<double> all = world.all(own);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], own[i % own.size()]);
  EXPECT_GT(own.front(), 1.0);
}

TEST(Train, APipelineGoesOnWithoutStagesAndTheOtherWayRound) {
  const SharedFolder folder;
  World world;
  const TrainSettings pipelined = pipelined_run(folder, world);
  TrainSettings plain = small_run(folder, grids_of(world.size()).front());
  plain.folder += "-plain";
  plain.checkpoint_every = 4;
  const TrainOutcome whole = train_model(pipelined, world);
  train_model(plain, world);
  TrainSettings without = plain;
  without.resume = pipelined.folder + "/checkpoints/step-00000004.json";
  without.folder += "-resumed";
  TrainSettings with = pipelined;
  with.options.order = PipelineOrder::gpipe;
  with.resume = plain.folder + "/checkpoints/step-00000004.json";
  with.folder += "-resumed";

  for (const TrainSettings& rest : {without, with}) {
    const TrainOutcome resumed = train_model(rest, world);

    ASSERT_EQ(resumed.losses.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(resumed.losses[i], whole.losses[4 + i], 1e-3) << rest.grid.str();
    }
  }
}

TEST(Train, APipelineIsTracedAndTimedByChannelOfEachStage) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = pipelined_run(folder, world);
  settings.trace = folder.path() + "/trace.json";
  settings.trace_step = 2;
  settings.tune_kernels = true;
  train_model(settings, world);
  world.barrier();

  std::ifstream file(settings.trace);
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::int64_t messages = 0;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") messages += event.at("cat") == "message";
  }
  const bool stages = settings.grid.extent(Axis::pipe) > 1;
  // Two micro-batches, there and back, at both ends.
  EXPECT_EQ(messages, stages ? 2 * 2 * 2 * settings.grid.size() / 2 : 0);
  for (const nlohmann::json& line : log_of(settings)) {
    if (line.at("kind") != "step") continue;
    EXPECT_EQ(line.at("exposed_s").contains("pipe_forward_even"), stages);
    EXPECT_EQ(line.at("exposed_s").contains("pipe_backward_even"), stages);
    EXPECT_EQ(line.at("exposed_s").contains("pipe_ends"), stages);
  }
}

// Tuned: the resumed run computes with the kernels that the first one chose, whatever is faster
// now.
TEST(Train, TakesABatchAStepFromItsData) {
  const SharedFolder folder;
  TrainSettings settings = small_run(folder, {1, 1, 1, size_of(MPI_COMM_WORLD)});
  settings.length.steps = 3;
  World world;

  const std::string checkpoint = train_model(settings, world).checkpoint;

  EXPECT_EQ(read_training_state(checkpoint).position, 3 * settings.batch);
}

TEST_F(TrainOfReplicas, StepsHaveTheLearningRateOfTheirNumber) {
  const SharedFolder folder;
  TrainSettings settings = small_run(folder, {1, 1, 1, size_of(MPI_COMM_WORLD)});
  settings.length.steps = 4;
  World world;

  train_model(settings, world);

  const std::vector<double> rates = learning_rates(settings);
  ASSERT_EQ(rates.size(), 4U);
  for (std::int64_t step = 1; step <= 4; ++step) {
    EXPECT_EQ(rates[static_cast<std::size_t>(step - 1)],
              settings.learning_rate.at(settings.length, {.steps_before = step - 1}));
  }
}

TEST(Train, ResumedOnTheSameGridGoesOnBitByBit) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder, grids_of(world.size()).back());
  settings.options.micro_batches = 2;
  settings.tune_kernels = true;
  settings.checkpoint_every = 5;
  settings.keep_checkpoints = 5;
  const TrainOutcome whole = train_model(settings, world);
  TrainSettings rest = settings;
  rest.resume = settings.folder + "/checkpoints/step-00000005.json";
  rest.folder += "-resumed";

  const TrainOutcome resumed = train_model(rest, world);

  ASSERT_EQ(resumed.losses.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(resumed.losses[i], whole.losses[5 + i]);
  world.barrier();
  const std::vector<double> rates = learning_rates(settings);
  EXPECT_EQ(learning_rates(rest), std::vector<double>(rates.begin() + 5, rates.end()));
  EXPECT_EQ(resumed.validation_loss, whole.validation_loss);
  EXPECT_EQ(resumed.texts, whole.texts);
}

// Minutes count over all runs of a training: eight steps take longer than the one that follows.
TEST_F(TrainOfReplicas, AResumedRunAddsItsTimeToThatOfTheRunBefore) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder, grids_of(world.size()).front());
  const auto trained_seconds = [](const TrainOutcome& outcome) {
    return read_training_state(outcome.checkpoint).trainer.at("trained_seconds").get<double>();
  };
  const double before = trained_seconds(train_model(settings, world));
  TrainSettings rest = settings;
  rest.resume = settings.folder + "/checkpoints";
  rest.folder += "-resumed";
  rest.length.steps = 9;

  const double after = trained_seconds(train_model(rest, world));

  EXPECT_GT(before, 0.0);
  EXPECT_GT(after, before);
}

TEST_F(TrainOfReplicas, TextsDependOnTheSeedAndNothingElse) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder, grids_of(world.size()).back());
  settings.length.steps = 2;
  settings.sampling.texts = 3;
  settings.sampling.prompt = "the";
  const TrainOutcome first = train_model(settings, world);
  settings.folder += "-again";
  const TrainOutcome again = train_model(settings, world);
  settings.folder += "-other";
  settings.sampling.seed = 2;
  const TrainOutcome other = train_model(settings, world);

  EXPECT_EQ(first.texts, again.texts);
  EXPECT_NE(first.texts, other.texts);
  ASSERT_EQ(first.texts.size(), 3U);
  EXPECT_NE(first.texts[0], first.texts[1]);
  for (const std::vector<std::int32_t>& text : first.texts) {
    ASSERT_EQ(text.size(), 15U);
    EXPECT_EQ(std::string(text.begin(), text.begin() + 3), "the");
  }
}

TEST(Train, LogHasALineForEveryStepAndTheTraceParses) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder, grids_of(world.size()).back());
  settings.trace = folder.path() + "/trace.json";
  settings.trace_step = 2;
  const TrainOutcome outcome = train_model(settings, world);
  world.barrier();

  const std::vector<nlohmann::json> lines = log_of(settings);
  std::map<std::string, int> kinds;
  for (const nlohmann::json& line : lines) ++kinds[line.at("kind")];
  EXPECT_EQ(lines.front().at("kind"), "run");
  EXPECT_EQ(kinds["step"], 8);
  EXPECT_EQ(kinds["validation"], 2);
  EXPECT_EQ(kinds["checkpoint"], 1);
  EXPECT_EQ(kinds["text"], 2);
  std::ifstream file(settings.trace);
  const nlohmann::json trace = nlohmann::json::parse(file);
  EXPECT_GT(trace.at("traceEvents").size(), 100U);
  EXPECT_FALSE(outcome.checkpoint.empty());
}

TEST(Train, AGridOfOtherRanksIsRefused) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder, {1, 1, 1, world.size() * 2});

  EXPECT_THROW(train_model(settings, world), std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
