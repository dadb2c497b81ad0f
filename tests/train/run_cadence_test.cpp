// What a run does after which step, what its log and its header say, and every flag's own number;
// long because a table holds every flag.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flags.hpp"
#include "engine/train/run/agreement.hpp"
#include "engine/train/run/run_header.hpp"
#include "engine/train/run/train.hpp"
#include "tests/golden.hpp"
#include "tests/train/few_ranks.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using RunCadence = FewRanks;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Steps = std::vector<std::int64_t>;

TrainSettings small_run(const SharedFolder& folder) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "the quick brown fox jumps over the lazy dog\n";
  TrainSettings settings;
  settings.model = {"small", 1, 16, 8, 16, 128};
  settings.data.files = {folder.write("text.txt", text)};
  settings.grid = ProcessGrid(1, 1, 1, world_size());
  settings.batch = 8;
  settings.options.precision = Precision::fp32;
  settings.options.recompute = Recompute::none;
  settings.length.steps = 7;
  settings.data.validation_words = 256;
  settings.sampling.tokens = 2;
  settings.screen = Screen::silent;
  settings.folder = folder.path() + "/run";
  return settings;
}

// The steps at which each kind of line stands in the log. Called by all ranks: the first writes the
// texts' lines when the others are done already, and half a line is no JSON.
std::map<std::string, Steps> steps_by_kind(const TrainSettings& settings) {
  MPI_Barrier(MPI_COMM_WORLD);
  std::map<std::string, Steps> steps;
  std::ifstream file(log_path(settings));
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json entry = nlohmann::json::parse(line);
    if (entry.contains("step")) steps[entry.at("kind")].push_back(entry.at("step"));
  }
  return steps;
}

TEST_F(RunCadence, ValidatesAndSavesAfterEveryNthStepAndAtTheEnd) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder);
  settings.validate_every = 2;
  settings.checkpoint_every = 3;
  settings.keep_checkpoints = 2;

  const TrainOutcome outcome = train_model(settings, world);

  const auto steps = steps_by_kind(settings);
  EXPECT_EQ(steps.at("step"), (Steps{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(steps.at("validation"), (Steps{2, 4, 6, 7}));
  EXPECT_EQ(steps.at("checkpoint"), (Steps{3, 6, 7}));
  EXPECT_EQ(steps.at("end"), Steps{7});
  EXPECT_EQ(outcome.losses.size(), 7U);
  std::int64_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(settings.folder + "/checkpoints")) {
    kept += entry.path().extension() == ".json";
  }
  EXPECT_EQ(kept, 2);
}

TEST_F(RunCadence, WhatIsDueWithTheLastStepIsDoneOnce) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder);
  settings.length.steps = 6;
  settings.validate_every = 3;
  settings.checkpoint_every = 2;

  train_model(settings, world);

  const auto steps = steps_by_kind(settings);
  EXPECT_EQ(steps.at("validation"), (Steps{3, 6}));
  EXPECT_EQ(steps.at("checkpoint"), (Steps{2, 4, 6}));
}

TEST_F(RunCadence, NothingIsDueInBetweenWhereNothingIsAskedFor) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder);
  settings.validate_every = 0;
  settings.checkpoint_every = 0;

  train_model(settings, world);

  const auto steps = steps_by_kind(settings);
  EXPECT_EQ(steps.at("validation"), Steps{7});
  EXPECT_EQ(steps.at("checkpoint"), Steps{7});
}

// Steps are counted over both runs, and what is due is, too.
TEST_F(RunCadence, GoesOnCountingAfterAResume) {
  const SharedFolder folder;
  World world;
  TrainSettings first = small_run(folder);
  first.length.steps = 4;
  const TrainOutcome before = train_model(first, world);
  TrainSettings second = first;
  second.length.steps = 9;
  second.validate_every = 3;
  second.folder = folder.path() + "/second";
  second.resume = before.checkpoint;

  const TrainOutcome outcome = train_model(second, world);

  const auto steps = steps_by_kind(second);
  EXPECT_EQ(steps.at("step"), (Steps{5, 6, 7, 8, 9}));
  EXPECT_EQ(steps.at("end"), Steps{9});
  EXPECT_EQ(outcome.losses.size(), 5U);
  EXPECT_EQ(steps.at("validation").back(), 9);
  EXPECT_THAT(refusal([&] { train_model(second, world); }), HasSubstr("holds an earlier run"));
}

TEST_F(RunCadence, TextsAreOfTheLengthAskedFor) {
  const SharedFolder folder;
  World world;
  TrainSettings settings = small_run(folder);
  settings.length.steps = 1;
  settings.sampling.prompt = "the";
  settings.sampling.texts = 3;
  settings.sampling.tokens = 5;

  const TrainOutcome outcome = train_model(settings, world);

  ASSERT_EQ(outcome.texts.size(), 3U);
  for (const std::vector<std::int32_t>& text : outcome.texts) {
    ASSERT_EQ(text.size(), 8U);
    EXPECT_EQ(text[0], 't');
    EXPECT_EQ(text[2], 'e');
  }
}

TEST(World, TellsAllWhatEachHas) {
  const World world;
  std::vector<std::int64_t> ranks;
  for (std::int64_t rank = 0; rank < world.size(); ++rank) ranks.push_back(10 * rank);

  EXPECT_EQ(world.all(10 * world.rank()), ranks);
  EXPECT_EQ(world.from_last(1.5 + static_cast<double>(world.rank())),
            0.5 + static_cast<double>(world.size()));
  EXPECT_EQ(world.from_first(fmt::format("of rank {}", world.rank())), "of rank 0");
  EXPECT_EQ(world.ranks_on_this_node(), world.size());
  const std::vector<int> own(static_cast<std::size_t>(world.rank()) + 1,
                             static_cast<int>(world.rank()));
  for (std::int64_t sender = 0; sender < world.size(); ++sender) {
    if (world.rank() != sender && world.rank() != 0) continue;
    const std::vector<int> heard = world.to_first(own, sender);
    const std::vector<int> expected(static_cast<std::size_t>(sender) + 1, static_cast<int>(sender));
    EXPECT_EQ(heard, world.rank() == 0 ? expected : std::vector<int>{});
  }
}

TEST(Agreement, AFailureOfAnyRankIsThatOfAll) {
  const int last = world_size() - 1;
  const auto fail_on = [](int rank) {
    return refusal([rank] {
      together([rank] {
        if (world_rank() == rank) throw std::runtime_error(fmt::format("rank {} fell", rank));
      });
    });
  };

  EXPECT_EQ(fail_on(last), fmt::format("rank {} fell", last));
  EXPECT_EQ(fail_on(0), "rank 0 fell");
  EXPECT_EQ(fail_on(-1), "");
  EXPECT_EQ(
      refusal([] { together([] { throw std::runtime_error(std::to_string(world_rank())); }); }),
      "0");  // the first of all that fail
  EXPECT_EQ(from_first_rank([] { return std::to_string(world_rank()); }), "0");
}

RunFacts made_up_facts() {
  RunFacts facts;
  facts.cpu = "a processor, 8 cores";
  facts.libraries = "some libraries";
  facts.openblas_core = "SomeCore";
  facts.kernels = "some kernels";
  facts.data = "2 text files";
  facts.word = "byte";
  facts.unigram_nats = 3.0;
  facts.work = {.tokens = 4096, .executed = {3.25e9}, .model = {2.75e9}, .peak = {400e9}};
  facts.counted.peak = {52e6};
  facts.counted.by_role = {Bytes{1e6}, {2e6}, {3e6}, {0.0}, {46e6}};
  facts.step = 30;
  facts.trained_seconds = 45.0;
  return facts;
}

TrainSettings made_up_settings() {
  TrainSettings settings;
  settings.model = {"small", 2, 32, 8, 16, 128};
  settings.grid = ProcessGrid(2, 1, 2, 1);
  settings.batch = 12;
  settings.options.precision = Precision::fp32;
  settings.options.micro_batches = 3;
  settings.length = {.steps = 120, .minutes = 2.5};
  settings.learning_rate = {.peak = 4e-3, .last_part = 0.25, .warm_up_steps = 10};
  settings.optimizer.weight_decay = 0.125;
  settings.optimizer.clip_norm = 0.75;
  settings.resume = "earlier";
  settings.changes = {"--seed 3 instead of 1"};
  settings.folder = "some/folder";
  settings.transport = TransportKind::window;
  settings.progress = ProgressMode::thread;
  settings.seed = 9;
  return settings;
}

TEST(RunHeader, IsTheGoldenOne) {
  TrainSettings piped = made_up_settings();
  piped.grid = ProcessGrid(1, 1, 1, 2, 2);
  piped.options.zero = 1;
  piped.length = {.steps = 1, .minutes = 0.0};
  piped.resume.clear();
  piped.changes.clear();
  std::string text;
  for (const TrainSettings& settings : {made_up_settings(), piped}) {
    text += header_text(settings, made_up_facts()) + '\n' +
            nlohmann::ordered_json::parse(header_json(settings, made_up_facts())).dump(1) + '\n';
  }
  text += growth_text(57'200'000, 31'000'000, made_up_facts().counted) + '\n';

  expect_golden("run_header.txt", text);
}

// Work of a step is shared out: however many ranks, all together do the same.
TEST(RunHeader, WorkOfAStepIsThatOfAllRanks) {
  TrainSettings settings = made_up_settings();
  settings.grid = ProcessGrid(1, 1, 1, 1);
  const StepWork alone = counted_work(settings);
  settings.grid = ProcessGrid(2, 1, 2, 2);  // along y attention is not shared out
  const StepWork shared = counted_work(settings);
  settings.grid = ProcessGrid(2, 1, 1, 1, 2);
  const StepWork piped = counted_work(settings);

  EXPECT_EQ(alone.tokens, 12 * 16);
  EXPECT_EQ(shared.tokens, 12 * 16);
  EXPECT_NEAR(shared.executed.value, alone.executed.value, 1e-9 * alone.executed.value);
  EXPECT_NEAR(piped.executed.value, alone.executed.value, 1e-9 * alone.executed.value);
  EXPECT_EQ(shared.model.value, alone.model.value);
  EXPECT_LT(shared.executed.value, 2 * shared.model.value);
}

// All numbers that a flag can set, as text.
nlohmann::json numbers_of(const TrainSettings& s) {
  return {{"held_out", s.data.held_out},
          {"data_seed", s.data.seed},
          {"files", s.data.files},
          {"validation_files", s.data.validation_files},
          {"data_order", name(s.data.order)},
          {"batch", s.batch},
          {"steps", s.length.steps},
          {"minutes", s.length.minutes},
          {"peak", s.learning_rate.peak},
          {"last_part", s.learning_rate.last_part},
          {"warm_up", s.learning_rate.warm_up_steps},
          {"decay", s.optimizer.weight_decay},
          {"beta1", s.optimizer.beta1},
          {"beta2", s.optimizer.beta2},
          {"epsilon", s.optimizer.epsilon},
          {"clip", s.optimizer.clip_norm},
          {"rate_decay", name(s.learning_rate.decay)},
          {"decay_part", s.learning_rate.decay_part},
          {"bad_steps", name(s.bad_steps)},
          {"bad_norm", std::isfinite(s.optimizer.largest_norm) ? s.optimizer.largest_norm : 0.0},
          {"seed", s.seed},
          {"transport", name(s.transport)},
          {"progress", name(s.progress)},
          {"tune", s.tune_kernels},
          {"validate_every", s.validate_every},
          {"validation_words", s.data.validation_words},
          {"token_bits", s.data.token_bits},
          {"prompt", s.sampling.prompt},
          {"texts", s.sampling.texts},
          {"tokens", s.sampling.tokens},
          {"temperature", s.sampling.temperature},
          {"top_k", s.sampling.top_k},
          {"top_p", s.sampling.top_p},
          {"sample_seed", s.sampling.seed},
          {"sample_every", s.sampling.every},
          {"json", s.screen == Screen::json},
          {"print_every", s.print_every},
          {"folder", s.folder},
          {"log", s.log},
          {"trace", s.trace},
          {"trace_step", s.trace_step},
          {"checkpoint_every", s.checkpoint_every},
          {"checkpoint_minutes", s.checkpoint_minutes},
          {"keep_checkpoints", s.keep_checkpoints},
          {"resume", s.resume}};
}

TrainSettings settings_from(const std::vector<std::string>& words) {
  CLI::App app;
  TrainFlags flags;
  add_train_flags(app, flags);
  parse_words(app, words);
  return settings_of(flags);
}

TEST(TrainFlags, EachSetsItsOwnNumberAndNoOther) {
  const nlohmann::json usual = numbers_of(settings_from({"--steps", "3"}));
  const std::map<std::string, std::pair<std::string, nlohmann::json>> flags{
      {"--held-out", {"held_out", 0.25}},
      {"--data-order", {"data_order", "sequential"}},
      {"--batch", {"batch", 32}},
      {"--minutes", {"minutes", 2.5}},
      {"--learning-rate", {"peak", 0.5}},
      {"--last-learning-rate", {"last_part", 0.5}},
      {"--warm-up", {"warm_up", 0}},
      {"--weight-decay", {"decay", 0}},
      {"--beta1", {"beta1", 0.5}},
      {"--beta2", {"beta2", 0.5}},
      {"--clip", {"clip", 0.5}},
      {"--epsilon", {"epsilon", 0.5}},
      {"--learning-rate-decay", {"rate_decay", "wsd"}},
      {"--decay-part", {"decay_part", 0.5}},
      {"--bad-steps", {"bad_steps", "rewind"}},
      {"--bad-norm", {"bad_norm", 2.5}},
      {"--transport", {"transport", "library"}},
      {"--progress", {"progress", "none"}},
      {"--validate-every", {"validate_every", 0}},
      {"--validation-words", {"validation_words", 1}},
      {"--token-bits", {"token_bits", 32}},
      {"--prompt", {"prompt", "Once"}},
      {"--texts", {"texts", 1}},
      {"--tokens", {"tokens", 0}},
      {"--temperature", {"temperature", 0}},
      {"--top-k", {"top_k", 7}},
      {"--top-p", {"top_p", 0.5}},
      {"--sample-seed", {"sample_seed", 7}},
      {"--sample-every", {"sample_every", 7}},
      {"--print-every", {"print_every", 7}},
      {"--folder", {"folder", "f"}},
      {"--log", {"log", "l"}},
      {"--trace", {"trace", "t"}},
      {"--trace-step", {"trace_step", 7}},
      {"--checkpoint-every", {"checkpoint_every", 7}},
      {"--checkpoint-minutes", {"checkpoint_minutes", 0.5}},
      {"--keep-checkpoints", {"keep_checkpoints", 7}},
      {"--resume", {"resume", "r"}}};
  for (const auto& [flag, expected] : flags) {
    const auto& [key, value] = expected;
    const std::string word = value.is_string() ? value.get<std::string>() : value.dump();

    nlohmann::json numbers = numbers_of(settings_from({"--steps", "3", flag, word}));

    EXPECT_EQ(numbers.at(key), value) << flag;
    EXPECT_NE(usual.at(key), value) << flag;
    numbers[key] = usual[key];
    EXPECT_EQ(numbers, usual) << flag;
  }
  const nlohmann::json seeded = numbers_of(settings_from({"--seed", "5"}));
  EXPECT_EQ(seeded.at("seed"), 5);
  EXPECT_EQ(seeded.at("data_seed"), 5);
  EXPECT_TRUE(settings_from({"--tune-kernels"}).tune_kernels);
  EXPECT_EQ(settings_from({"--json"}).screen, Screen::json);
}

TEST(TrainFlags, DefaultsAreTheGoldenOnes) {
  expect_golden("train_defaults.json", numbers_of(settings_from({})).dump(1) + '\n');
}

TEST(TrainFlags, RangesEndWhereTheySay) {
  const auto accepted = [](const std::string& flag, const std::string& word) {
    try {
      settings_from({flag, word});
    } catch (const std::exception&) {
      return false;
    }
    return true;
  };
  struct Range {
    const char* flag;
    const char* inside;
    const char* outside;
  };
  for (const Range& range : std::vector<Range>{{"--steps", "0", "-1"},
                                               {"--minutes", "0", "-0.1"},
                                               {"--learning-rate", "1e-12", "0"},
                                               {"--last-learning-rate", "0", "-0.01"},
                                               {"--last-learning-rate", "1", "1.01"},
                                               {"--warm-up", "0", "-1"},
                                               {"--weight-decay", "0", "-1"},
                                               {"--beta1", "0", "-0.1"},
                                               {"--beta1", "0.99999", "1"},
                                               {"--beta2", "0.99999", "1"},
                                               {"--clip", "0", "-1"},
                                               {"--epsilon", "1e-30", "0"},
                                               {"--epsilon", "1", "1.5"},
                                               {"--learning-rate-decay", "linear", "exponential"},
                                               {"--decay-part", "1", "0"},
                                               {"--decay-part", "1e-6", "1.01"},
                                               {"--bad-steps", "skip", "ignore"},
                                               {"--bad-norm", "0", "-1"},
                                               {"--print-every", "0", "-1"},
                                               {"--validate-every", "0", "-1"},
                                               {"--validation-words", "0", "-1"},
                                               {"--token-bits", "16", "8"},
                                               {"--checkpoint-every", "0", "-1"},
                                               {"--checkpoint-minutes", "0", "-1"},
                                               {"--keep-checkpoints", "1", "0"},
                                               {"--trace-step", "0", "-1"},
                                               {"--texts", "1", "0"},
                                               {"--tokens", "0", "-1"},
                                               {"--temperature", "0", "-0.5"},
                                               {"--top-k", "0", "-1"},
                                               {"--top-p", "1", "0"},
                                               {"--top-p", "0.01", "1.01"},
                                               {"--sample-every", "0", "-1"},
                                               {"--ranks", "0", "-1"},
                                               {"--openblas-core", "keep", "drop"}}) {
    EXPECT_TRUE(accepted(range.flag, range.inside)) << range.flag;
    EXPECT_FALSE(accepted(range.flag, range.outside)) << range.flag;
  }
}

}  // namespace
}  // namespace fourfold::tests
