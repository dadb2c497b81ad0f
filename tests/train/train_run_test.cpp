// Whole runs on as many ranks as there are: the loss falls, every grid loses alike, whatever
// targets count, and a resumed run goes on bit by bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/train/checkpoint/checkpoint_read.hpp"
#include "tests/golden.hpp"
#include "tests/train/small_run.hpp"

namespace fourfold::tests {
namespace {

using TrainOfReplicas = SmallRuns<FewRanks>;

class Train : public InAFolder<> {
 protected:
  World world;
};

// The first cuts the batch, the last weights.
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

TrainSettings run_on(const SharedFolder& folder, const ProcessGrid& grid) {
  TrainSettings settings = small_run(folder);
  settings.grid = grid;
  settings.options.micro_batches = 2;
  settings.validate_every = 4;
  settings.folder = folder.file(grid.str());
  return settings;
}

// On every rank: each hears the losses, whichever knows them first.
void expect_alike(const TrainOutcome& outcome, const TrainOutcome& expected, const World& world) {
  ASSERT_EQ(outcome.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(outcome.losses[i], expected.losses[i], 1e-3) << "step " << i + 1;
  }
  EXPECT_NEAR(outcome.validation_loss, expected.validation_loss, 1e-3);
  EXPECT_GT(outcome.losses.front(), 1.0);
  std::vector<double> own = outcome.losses;
  own.push_back(outcome.validation_loss);
  const std::vector<double> all = world.all(own);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], own[i % own.size()]);
}

TEST_F(Train, LosesLessThanGuessingByFrequency) {
  TrainSettings settings = small_run(folder);
  settings.length.steps = 30;

  const TrainOutcome outcome = train_model(settings, world);

  const Data data(settings.data, settings.model);
  const double entropy = unigram_entropy(data.validation_words(), settings.model.vocabulary);
  EXPECT_NEAR(outcome.losses.front(), std::log(128.0), 0.5);
  EXPECT_LT(outcome.validation_loss, 0.8 * entropy);
  EXPECT_FALSE(outcome.stopped);
}

// A pipeline of two stages, or all ranks on one where there is one.
TrainSettings pipelined_run(const SharedFolder& folder) {
  const std::int64_t stages = std::min(world_size(), 2);
  TrainSettings settings = run_on(folder, {1, 1, 1, world_size() / stages, stages});
  settings.checkpoint_every = 4;
  return settings;
}

// Of documents, by Goldfish loss, unequally many targets count on each rank and in each batch.
TEST_F(Train, LosesAlikeOnEveryGridOfTheseRanksWhateverTargetsCount) {
  std::string documents;
  for (std::size_t i = 0; i < 300; ++i) {
    documents += nlohmann::json{{"prompt", std::string(i % 40, 'q')},
                                {"completion", "the quick brown fox " + std::to_string(i * i)}}
                     .dump() +
                 "\n";
  }
  const std::string file = folder.write("documents.jsonl", documents);
  std::vector<ProcessGrid> grids = grids_of(world.size());
  if (world.size() > 1) grids.push_back(pipelined_run(folder).grid);
  if (world.size() >= 4) grids.emplace_back(2, 1, 1, world.size() / 4, 2);
  for (const bool left_out : {false, true}) {
    std::vector<TrainOutcome> outcomes;
    for (const ProcessGrid& grid : grids) {
      SCOPED_TRACE(grid.str() + (left_out ? " of documents" : ""));
      TrainSettings settings = run_on(folder, grid);
      if (left_out) {
        settings.data.files = {file};
        settings.data.goldfish = {3, 4};
        settings.folder += "-documents";
      }
      outcomes.push_back(train_model(settings, world));
      expect_alike(outcomes.back(), outcomes.front(), world);
    }
  }
}

TEST_F(Train, APipelineGoesOnWithoutStagesAndTheOtherWayRound) {
  const TrainSettings pipelined = pipelined_run(folder);
  TrainSettings plain = run_on(folder, grids_of(world.size()).front());
  plain.folder += "-plain";
  plain.checkpoint_every = 4;
  const TrainOutcome whole = train_model(pipelined, world);
  train_model(plain, world);
  TrainSettings without = plain, with = pipelined;
  without.resume = pipelined.folder + "/checkpoints/step-00000004.json";
  with.options.order = PipelineOrder::gpipe;
  with.resume = plain.folder + "/checkpoints/step-00000004.json";
  for (TrainSettings rest : {without, with}) {
    rest.folder += "-resumed";
    const TrainOutcome resumed = train_model(rest, world);

    ASSERT_EQ(resumed.losses.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(resumed.losses[i], whole.losses[4 + i], 1e-3) << rest.grid.str();
    }
  }
}

TEST_F(Train, APipelineIsTracedAndTimedByChannelOfEachStage) {
  TrainSettings settings = pipelined_run(folder);
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
  for (const nlohmann::json& exposed : entries_of<nlohmann::json>(settings, "step", "exposed_s")) {
    for (const char* channel : {"pipe_forward_even", "pipe_backward_even", "pipe_ends"}) {
      EXPECT_EQ(exposed.contains(channel), stages) << channel;
    }
  }
}

// Minutes end a run behind a step that nobody knows before.
TEST_F(TrainOfReplicas, TheLastStepIsTracedWhereARunHasFewer) {
  settings.length = {.steps = 0, .minutes = 1e-9};
  settings.trace = folder.file("trace.json");
  for (const std::int64_t step : {0, 9}) {
    settings.trace_step = step;
    settings.folder += "-traced";
    train_model(settings, world);
    EXPECT_EQ(std::ssize(log_of(settings, "trace")), step == 0 ? 1 : 0);
  }
}

// Tuned: the resumed run computes with the kernels that the first one chose, whatever is faster
// now.
TEST_F(Train, ResumedOnTheSameGridGoesOnBitByBit) {
  TrainSettings settings = run_on(folder, grids_of(world.size()).back());
  settings.tune_kernels = true;
  settings.sampling.tokens = 12;
  settings.checkpoint_every = 5;
  settings.keep_checkpoints = 5;
  const TrainOutcome whole = train_model(settings, world);
  TrainSettings rest = settings;
  rest.resume = settings.folder + "/checkpoints/step-00000005.json";
  rest.folder += "-resumed";

  const TrainOutcome resumed = train_model(rest, world);

  EXPECT_EQ(resumed.losses, std::vector<double>(whole.losses.begin() + 5, whole.losses.end()));
  const auto rates = entries_of<double>(settings, "step", "learning_rate");
  EXPECT_EQ(entries_of<double>(rest, "step", "learning_rate"),
            std::vector<double>(rates.begin() + 5, rates.end()));
  EXPECT_EQ(resumed.validation_loss, whole.validation_loss);
  EXPECT_EQ(resumed.texts, whole.texts);
}

// Minutes count over all runs of a training: eight steps take longer than the one that follows.
TEST_F(TrainOfReplicas, AResumedRunAddsItsTimeToThatOfTheRunBefore) {
  const auto trained_seconds = [&] {
    return read_training_state(train_model(settings, world).checkpoint)
        .trainer.at("trained_seconds")
        .get<double>();
  };
  const double before = trained_seconds();
  settings.resume = settings.folder + "/checkpoints";
  settings.folder += "-resumed";
  settings.length.steps = 9;

  const double after = trained_seconds();

  EXPECT_GT(before, 0.0);
  EXPECT_GT(after, before);
}

struct Variant {
  ProcessGrid grid;
  StepOptions options;
};

StepOptions options_with(PipelineOrder order, std::int64_t zero) {
  StepOptions options;
  options.precision = Precision::fp32;
  options.micro_batches = 2;
  options.order = order;
  options.zero = zero;
  return options;
}

// Of as many ranks as there are: one that cuts weights, one that cuts copies, one of two stages.
std::vector<Variant> variants() {
  const std::int64_t ranks = world_size();
  using enum PipelineOrder;
  std::vector<Variant> all{{ProcessGrid(1, 1, 1, ranks), options_with(one_f_one_b, 2)}};
  all.back().options.attention = AttentionKernel::unfused;
  if (ranks == 1) {
    all.push_back({{1, 1, 1, 1}, options_with(gpipe, 0)});
    all.back().options.offload_bucket = 100;
    return all;
  }
  all.push_back({{1, 1, 2, ranks / 2}, options_with(one_f_one_b, 3)});
  all.back().options.data_reduction = DataReduction::beside_backward;
  all.push_back({{ranks / 2, 1, 1, 1, 2}, options_with(interleaved, 0)});
  all.back().options.chunks = 2;
  all.back().options.sequence_parallel = true;
  all.push_back({{1, ranks / 2, 1, 1, 2}, options_with(zero_bubble, 0)});
  all.back().options.recompute = Recompute::none;
  all.push_back({{1, 1, 1, ranks / 2, 2}, options_with(message_driven, 0)});
  all.push_back({{1, 1, 1, ranks / 2, 2}, options_with(gpipe, 1)});
  return all;
}

TrainSettings settings_of(const Variant& variant, const SharedFolder& folder, int number) {
  TrainSettings settings = small_run(folder);
  settings.model.layers = 4;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += std::to_string(i * i) + " is the square of " + std::to_string(i) + "\n";
  }
  settings.data.files = {folder.write("squares.txt", text)};
  settings.data.validation_words = 3 * 8 * 16;
  settings.grid = variant.grid;
  settings.options = variant.options;
  settings.length.steps = 6;
  settings.learning_rate = {.peak = 3e-3, .last_part = 0.2, .warm_up_steps = 2};
  settings.optimizer.weight_decay = 0.3;
  settings.optimizer.clip_norm = 0.8;
  settings.validate_every = 3;
  settings.sampling.tokens = 3;
  settings.folder += std::to_string(number);
  return settings;
}

std::string numbers_of(const TrainSettings& settings) {
  std::string text;
  for (const nlohmann::json& entry : log_of(settings)) {
    text += entry.at("kind").get<std::string>();
    for (const char* key : {"step", "loss", "gradient_norm", "learning_rate", "done"}) {
      if (entry.contains(key)) text += fmt::format(" {} {:.8g}", key, entry.at(key).get<double>());
    }
    text += '\n';
  }
  return text;
}

TEST(RecordedRun, HasTheNumbersOfEveryOtherOne) {
  if (world_size() > 4) GTEST_SKIP() << "four ranks cut all that is cut here";
  const SharedFolder folder;
  World world;
  int number = 0;
  for (const Variant& variant : variants()) {
    SCOPED_TRACE(variant.grid.str());
    const TrainSettings settings = settings_of(variant, folder, number++);

    const TrainOutcome outcome = train_model(settings, world);

    const TrainingState state = read_training_state(outcome.checkpoint);
    const std::string text = numbers_of(settings) + fmt::format("position {}\n", state.position);
    expect_golden_numbers("recorded_run.txt", text, 2e-4);
  }
}

}  // namespace
}  // namespace fourfold::tests
