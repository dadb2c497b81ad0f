// The command line of training: defaults, refusals, and what a resumed run goes on with.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/train/checkpoint/choices_json.hpp"
#include "engine/train/checkpoint/resume.hpp"
#include "engine/train/flags/command_line.hpp"
#include "engine/train/flags/flags.hpp"
#include "engine/train/run/traced_step.hpp"
#include "support/refused_words.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Words = std::vector<std::string>;

TrainSettings settings_from(const Words& words) {
  CLI::App app;
  TrainFlags flags;
  add_train_flags(app, flags);
  parse_words(app, words);
  return settings_of(flags);
}

// What is said about words that are refused.
std::string refusal(const Words& words) {
  CLI::App app;
  TrainFlags flags;
  add_train_flags(app, flags);
  try {
    parse_words(app, words);
    settings_of(flags);
  } catch (const CLI::ParseError& error) {
    return sentence_of(app, error);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TrainFlags, DefaultsAreARunOfMinutesOnBytes) {
  const TrainSettings settings = settings_from({});

  EXPECT_EQ(settings.model.vocabulary, 256);
  EXPECT_GT(settings.length.minutes, 0.0);
  EXPECT_EQ(settings.length.steps, 0);
  EXPECT_LE(settings.grid.size(), 2);
}

TEST(TrainFlags, StepsReplaceTheDefaultMinutes) {
  const TrainSettings settings = settings_from({"--steps", "7"});

  EXPECT_EQ(settings.length.steps, 7);
  EXPECT_EQ(settings.length.minutes, 0.0);
}

TEST(TrainFlags, WordsBecomeOptions) {
  const TrainSettings settings =
      settings_from({"--grid", "2x1x2x1", "--batch=8", "--micro-batches", "2", "--precision",
                     "bf16", "--recompute", "full", "--overlap", "oar,oag", "--transport", "window",
                     "--progress", "none", "--data-reduction", "beside-backward"});

  EXPECT_EQ(settings.grid, ProcessGrid(2, 1, 2, 1));
  EXPECT_EQ(settings.options.micro_batches, 2);
  EXPECT_EQ(settings.options.precision, Precision::bf16);
  EXPECT_EQ(settings.options.recompute, Recompute::full);
  EXPECT_TRUE(settings.options.overlap.all_reduce);
  EXPECT_FALSE(settings.options.overlap.reduce_scatter);
  EXPECT_EQ(settings.options.data_reduction, DataReduction::beside_backward);
  EXPECT_EQ(settings.transport, TransportKind::window);
  EXPECT_EQ(settings.progress, ProgressMode::none);
}

TEST(TrainFlags, APipelineHasAnOrderAndTheDataAnother) {
  const TrainSettings settings =
      settings_from({"--grid", "data=2,pipe=2", "--order", "interleaved", "--chunks", "2",
                     "--micro-batches", "4", "--data-order", "sequential", "--batch", "8"});

  EXPECT_EQ(settings.grid, ProcessGrid(1, 1, 1, 2, 2));
  EXPECT_EQ(settings.options.order, PipelineOrder::interleaved);
  EXPECT_EQ(settings.options.chunks, 2);
  EXPECT_EQ(settings.data.order, DataOrder::sequential);
}

TEST(TrainFlags, PipelinesThatCannotBeAreRefused) {
  EXPECT_THAT(refusal({"--grid", "pipe=64"}), HasSubstr("cannot be dealt out to 64 stages"));
  EXPECT_THAT(refusal({"--grid", "pipe=2", "--order", "interleaved", "--chunks", "2",
                       "--micro-batches", "3", "--batch", "6"}),
              HasSubstr("3 are no multiple of 2; the nearest are 2 and 4"));
  EXPECT_THAT(refusal({"--grid", "pipe=2", "--chunks", "2"}), HasSubstr("--order interleaved"));
  EXPECT_THAT(refusal({"--order", "interleaved", "--chunks", "2"}),
              HasSubstr("give the grid a pipe axis"));
  EXPECT_THAT(refusal({"--grid", "pipe=2", "--ranks", "4"}), HasSubstr("has 2 ranks, not 4"));
}

// Before pipelines had an order, --order was that of the data.
TEST(TrainFlags, OlderCheckpointsNameTheOrderOfTheDataOtherwise) {
  TrainingState old;
  old.trainer = {{"typed", {{"--order", {"sequential"}}, {"--batch", {"8"}}}}};
  TrainingState pipelined;
  pipelined.trainer = {{"typed", {{"--order", {"gpipe"}}}}};

  EXPECT_EQ(typed_before(old),
            nlohmann::json({{"--data-order", {"sequential"}}, {"--batch", {"8"}}}));
  EXPECT_EQ(typed_before(pipelined), nlohmann::json({{"--order", {"gpipe"}}}));
}

TEST(TrainFlags, WhatDoesNotFitIsRefusedInWords) {
  EXPECT_THAT(refusal({"--rank", "4"}), HasSubstr("did you mean \"--ranks\"?"));
  EXPECT_THAT(refusal({"train"}), HasSubstr("one argument too many"));
  EXPECT_THAT(refusal({"--ranks", "3", "--grid", "2x1x1x1"}), HasSubstr("has 2 ranks, not 3"));
  EXPECT_THAT(refusal({"--grid", "3x1x1x1"}), HasSubstr("4 heads do not divide along x"));
  EXPECT_THAT(refusal({"--grid", "1x5x1x1"}), HasSubstr("does not divide along y"));
  EXPECT_THAT(refusal({"--grid", "2x2"}), HasSubstr("grid"));
  EXPECT_THAT(refusal({"--batch", "7", "--ranks", "2"}), HasSubstr("z x data = 2"));
  EXPECT_THAT(refusal({"--batch", "0"}), HasSubstr("is no whole number from 1 to"));
  EXPECT_THAT(refusal({"--steps", "many"}), HasSubstr("'many' is no whole number"));
  EXPECT_THAT(refusal({"--model", "gpt-byte"}), HasSubstr("did you mean \"gpt-bytes\"?"));
  EXPECT_THAT(refusal({"--precision", "fp16"}), HasSubstr("unknown --precision 'fp16'"));
  EXPECT_THAT(refusal({"--recompute", "ful"}), HasSubstr("did you mean \"full\"?"));
  EXPECT_THAT(refusal({"--overlap", "oax"}), HasSubstr("unknown --overlap 'oax'"));
  EXPECT_THAT(refusal({"--transport", "pigeon"}), HasSubstr("pigeon"));
  EXPECT_THAT(refusal({"--temperature", "-1"}), HasSubstr("must be at least 0, not -1"));
}

// What a resumed run is told about flags that are not as they were.
std::vector<std::string> changes(const Words& before, const Words& now) {
  CLI::App first, second;
  TrainFlags ignored, again;
  add_train_flags(first, ignored);
  parse_words(first, before);
  add_train_flags(second, again);
  parse_words(second, now);
  return changes_since(typed_flags(first), second);
}

TEST(TrainFlags, AResumedRunHearsWhatIsNotAsItWas) {
  EXPECT_EQ(changes({"--batch", "8"}, {"--batch", "4", "--steps", "90", "--grid", "1x1x1x1"}),
            (Words{"--batch 4 instead of 8", "--steps 90 instead of the default length"}));
  EXPECT_EQ(changes({}, {"--seed", "7", "--precision", "bf16"}),
            (Words{"--seed 7 instead of 1", "--precision bf16 instead of fp32"}));
  EXPECT_EQ(changes({}, {"--data", "a.txt"}), (Words{"--data a.txt instead of the default"}));
  EXPECT_EQ(changes({"--data", "a.txt", "b.txt"}, {"--data", "a.txt", "b.txt"}), Words{});
  EXPECT_EQ(changes({}, {"--learning-rate", "2e-3", "--batch=16"}), Words{});
}

// --steps and --minutes go together: one that is typed drops the other, and says so.
TEST(TrainFlags, AResumedRunHearsOfEveryOtherLength) {
  const std::vector<Words> lengths{{},
                                   {"--steps", "9"},
                                   {"--steps", "8"},
                                   {"--minutes", "2.5"},
                                   {"--steps", "9", "--minutes", "2.5"}};
  for (const Words& before : lengths) {
    for (const Words& now : lengths) {
      const auto text = [](const Words& words) {
        return words.empty() ? "the default length" : fmt::format("{}", fmt::join(words, " "));
      };
      const bool said = !now.empty() && now != before;
      EXPECT_EQ(changes(before, now),
                said ? Words{text(now) + " instead of " + text(before)} : Words{});
    }
  }
}

TEST(TrainFlags, AResumedRunHearsOfEveryFlagThatDecidesItsNumbers) {
  const std::vector<std::pair<std::string, std::string>> others{{"--data-order", "sequential"},
                                                                {"--seed", "7"},
                                                                {"--batch", "3"},
                                                                {"--goldfish-k", "9"},
                                                                {"--goldfish-h", "9"},
                                                                {"--learning-rate", "3e-5"},
                                                                {"--clip", "0.3"},
                                                                {"--beta1", "0.3"},
                                                                {"--beta2", "0.3"},
                                                                {"--last-learning-rate", "0.3"},
                                                                {"--warm-up", "33"},
                                                                {"--weight-decay", "0.03"}};
  for (const auto& [flag, value] : others) {
    const std::vector<std::string> said = changes({}, {flag, value});
    ASSERT_EQ(said.size(), 1u) << flag;
    EXPECT_TRUE(said[0].starts_with(flag + " " + value + " instead of ")) << said[0];
  }
}

TEST(TrainFlags, AModelMustBeTheResumedOne) {
  const Model small{"small", 2, 32, 8, 16, 128};
  Model other = small;
  other.name = "the same by another name";
  EXPECT_NO_THROW(expect_same_model(small, other));
  other.layers = 3;
  EXPECT_THROW(expect_same_model(small, other), std::runtime_error);
}

// A grid with other stages takes none of what speaks of them, unless it is typed anew.
TEST(TrainFlags, AResumedRunLeavesThePipelineOfAnotherGrid) {
  const nlohmann::json then{{"--grid", {"pipe=2,data=2"}},
                            {"--order", {"interleaved"}},
                            {"--chunks", {"2"}},
                            {"--batch", {"8"}}};
  const auto taken = [&](const Words& words, std::string& said) {
    CLI::App app;
    TrainFlags flags;
    add_train_flags(app, flags);
    parse_words(app, words);
    nlohmann::json before = then;
    said = take_flags_of_stages(app, before);
    return before;
  };
  std::string said;
  EXPECT_EQ(taken({"--grid", "pipe=2,x=2"}, said), then);
  EXPECT_EQ(taken({"--batch", "4"}, said), then);
  EXPECT_EQ(taken({"--grid", "no grid"}, said), then);
  EXPECT_EQ(said, "");
  const nlohmann::json left{{"--grid", {"pipe=2,data=2"}}, {"--batch", {"8"}}};
  for (const Words& words :
       {Words{"--grid", "data=2"}, Words{"--ranks", "2"}, Words{"--grid", "pipe=3"}}) {
    EXPECT_EQ(taken(words, said), left);
    EXPECT_EQ(said, "--order interleaved --chunks 2") << words[1];
  }
  taken({"--grid", "data=2", "--order", "1f1b"}, said);
  EXPECT_EQ(said, "--chunks 2");
}

TEST(TrainSettings, TheFifthStepIsTracedOrTheLast) {
  TrainSettings settings;
  settings.trace = "trace.json";
  settings.length.steps = 20;
  EXPECT_EQ(traced_step(settings, 0), 5);
  EXPECT_EQ(traced_step(settings, 18), 2);
  settings.trace_step = 3;
  EXPECT_EQ(traced_step(settings, 17), 3);
  EXPECT_THROW(traced_step(settings, 18), std::runtime_error);
}

TEST(TransportChoicesJson, ComeBackAsTheyWereWithoutTimings) {
  const std::vector<TransportChoice> choices{
      {"z_gather",
       {CollectiveKind::all_gather, Owed::sum, Precision::bf16, 2, 1009},
       TransportKind::library,
       {{TransportKind::library, 1e-5}}},
      {"data",
       {CollectiveKind::all_reduce, Owed::max, Precision::fp32, 8, 7},
       TransportKind::window,
       {}}};

  const std::vector<TransportChoice> read = read_transport_choices(json_of(choices));

  ASSERT_EQ(read.size(), choices.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].channel, choices[i].channel);
    EXPECT_EQ(read[i].collective, choices[i].collective);
    EXPECT_EQ(read[i].transport, choices[i].transport);
    EXPECT_TRUE(read[i].timings.empty());
  }
}

TEST(TransportChoicesJson, WhatIsDamagedIsRefused) {
  const std::string sound =
      json_of(std::vector<TransportChoice>{{"x", {}, TransportKind::ring, {}}}).dump();
  for (const auto& [from, to] : {std::pair{"\"ring\"", "\"pigeon\""},
                                 {"\"all-reduce\"", "\"send\""},
                                 {"\"members\"", "\"limbs\""}}) {
    std::string damaged = sound;
    damaged.replace(damaged.find(from), std::string(from).size(), to);
    EXPECT_THAT([&] { read_transport_choices(nlohmann::json::parse(damaged)); },
                ThrowsMessage<std::runtime_error>(HasSubstr("transport choices are damaged")))
        << to;
  }
}

TEST(KernelChoicesJson, ComeBackAsTheyWere) {
  KernelChoices choices;
  choices.choices.push_back(
      {{GemmForm::nt, 8, 16, 32, Precision::bf16, Precision::fp32, Precision::fp32},
       3,
       {Library::openblas, GemmForm::nn},
       {}});

  const KernelChoices read = read_kernel_choices(json_of(choices));

  ASSERT_EQ(read.choices.size(), 1U);
  EXPECT_EQ(read.choices[0].product, choices.choices[0].product);
  EXPECT_EQ(read.choices[0].kernel, choices.choices[0].kernel);
  EXPECT_EQ(read.choices[0].count, 3);
  EXPECT_TRUE(covers(read, {{choices.choices[0].product, 1}}));
  EXPECT_FALSE(covers(read, {{Product{}, 1}}));
  EXPECT_THROW(read_kernel_choices(nlohmann::json::parse("[{\"form\":\"XX\"}]")),
               std::runtime_error);
}

}  // namespace
}  // namespace fourfold::tests
