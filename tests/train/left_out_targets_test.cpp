// Which targets are left out of the loss: those of prompts, and by Goldfish loss the same ones
// wherever a passage stands. Whole runs lose alike on every grid with both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/train/data/token_file.hpp"
#include "engine/train/run/train.hpp"
#include "engine/words.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using testing::Each;
using testing::HasSubstr;

Model byte_model(std::int64_t sequence) {
  return {"bytes", 2, 32, 8, sequence, 256};
}

DataOptions goldfish_on(const std::string& file, std::int64_t k, std::int64_t h) {
  DataOptions options;
  options.files = {file};
  options.order = DataOrder::sequential;
  options.goldfish = {k, h};
  return options;
}

LocalBatch first_sequences(const Data& data, std::int64_t count) {
  return data.training(0, {ProcessGrid(1, 1, 1, 1), 0, count, 1});
}

std::string made_up_text() {
  std::string text;
  for (int i = 0; i < 1500; ++i) text += std::to_string(1000 + i * 7919 % 9000);
  return text;
}

TEST(goldfish, leaves_out_one_target_of_k) {
  const SharedFolder folder;
  const std::string file = folder.write("a.txt", made_up_text());
  for (const std::int64_t k : {2, 4}) {
    const LocalBatch batch = first_sequences(Data(goldfish_on(file, k, 5), byte_model(16)), 300);

    const auto left_out = static_cast<double>(std::ranges::count(batch.targets, ignored_target));
    EXPECT_NEAR(left_out / 4800.0, 1.0 / static_cast<double>(k), 0.04);
  }
}

// The same passage in other surroundings and at other places of a sequence.
TEST(goldfish, leaves_out_the_same_targets_of_a_passage_wherever_it_stands) {
  const SharedFolder folder;
  const std::string passage = made_up_text().substr(0, 160);
  const std::int64_t h = 7;
  const auto mask_behind = [&](const std::string& before) {
    const std::string file = folder.write("a.txt", before + passage + std::string(400, '.'));
    const LocalBatch batch = first_sequences(Data(goldfish_on(file, 3, h), byte_model(16)), 12);
    std::vector<bool> mask;  // of the passage's bytes from the h-th on
    for (std::size_t i = before.size() + h - 1; i < before.size() + passage.size() - 1; ++i) {
      mask.push_back(batch.targets[i] == ignored_target);
    }
    return mask;
  };
  const std::vector<bool> expected = mask_behind("a");

  EXPECT_EQ(mask_behind("some other words"), expected);
  EXPECT_EQ(mask_behind("14 bytes of it"), expected);
  EXPECT_GT(std::ranges::count(expected, true), 20);
}

TEST(goldfish, keeps_what_has_too_few_words_before_it) {
  EXPECT_FALSE((Goldfish{2, 3}.leaves_out(std::vector<std::int32_t>{1, 2})));
  EXPECT_FALSE((Goldfish{0, 0}.leaves_out(std::vector<std::int32_t>{})));
}

// The hash is part of what a run means: another one would leave out other words.
TEST(goldfish, has_a_hash_that_stays) {
  std::string mask;
  for (std::int32_t word = 0; word < 32; ++word) {
    mask += Goldfish{2, 2}.leaves_out(std::vector<std::int32_t>{word, 7}) ? 'x' : '.';
  }

  EXPECT_EQ(mask, ".xx.xx.x..x...xxx.xx..x.......xx");
}

TEST(goldfish, leaves_held_out_text_as_it_is) {
  const SharedFolder folder;
  const Data data(goldfish_on(folder.write("a.txt", made_up_text()), 2, 5), byte_model(16));

  const LocalBatch batch = data.held_out().batch(0, {ProcessGrid(1, 1, 1, 1), 0, 4, 1});

  EXPECT_THAT(batch.targets, Each(testing::Ge(0)));
}

TEST(goldfish, refuses_a_k_of_one) {
  const SharedFolder folder;
  const std::string file = folder.write("a.txt", made_up_text());

  EXPECT_THAT(refusal([&] { Data(goldfish_on(file, 1, 13), byte_model(16)); }),
              HasSubstr("k must be 0 (none) or at least 2"));
}

constexpr const char* three_documents =
    "{\"prompt\": \"what is 2?\", \"completion\": \"two\"}\n\n"
    "{\"completion\": \"a day without sunshine is like night\"}\n"
    "{\"prompt\": \"up\", \"completion\": \"down\"}\n";

TEST(documents, are_text_whose_prompts_are_left_out) {
  const SharedFolder folder;
  DataOptions options;
  options.files = {folder.write("a.jsonl", three_documents)};
  options.validation_files = {folder.write("b.txt", made_up_text())};
  options.order = DataOrder::sequential;
  const Data data(options, byte_model(16));

  const LocalBatch batch = first_sequences(data, 1);

  EXPECT_TRUE(data.training_leaves_out());
  EXPECT_EQ(std::string(batch.tokens.begin(), batch.tokens.end()),
            std::string("what is 2?two\0a ", 16));
  std::string targets;
  for (const std::int32_t word : batch.targets) {
    targets += word == ignored_target ? '-' : static_cast<char>(word);
  }
  EXPECT_EQ(targets, std::string("---------two\0a d", 16));
}

// From its first byte to its last, and in no other document.
TEST(documents, leave_out_each_byte_of_a_prompt) {
  const SharedFolder folder;
  const TokenFile file(folder.write("a.jsonl", three_documents));
  const std::string text("what is 2?two\0a day without sunshine is like night\0updown\0", 58);
  const std::string mask = std::string(10, '-') + std::string(41, '.') + "--.....";

  ASSERT_EQ(file.words(), 58);
  const std::vector<std::int32_t> words = file.read(0, 58);
  EXPECT_EQ(std::string(words.begin(), words.end()), text);
  for (std::int64_t i = 0; i < 58; ++i) {
    EXPECT_EQ(file.is_of_prompt(i), mask[static_cast<std::size_t>(i)] == '-') << i;
  }
}

TEST(documents, that_are_none_are_refused_by_their_line) {
  const SharedFolder folder;
  const auto refusal_of = [&](const std::string& text) {
    DataOptions options;
    options.files = {folder.write("a.jsonl", text)};
    return refusal([&] { Data(options, byte_model(16)); });
  };

  EXPECT_THAT(refusal_of("{\"completion\": \"a\"}\nnothing"),
              HasSubstr("has a line 2 that is not"));
  EXPECT_THAT(refusal_of("{\"prompt\": \"a\"}"), HasSubstr("has no completion in line 1"));
  EXPECT_THAT(refusal_of("{\"completion\": 7}"),
              HasSubstr("a completion in line 1 that is no text"));
  EXPECT_THAT(refusal_of("{\"words\": \"a\"}"), HasSubstr("'words' in line 1; a document is"));
  EXPECT_THAT(refusal_of("\n"), HasSubstr("holds no document"));
}

TEST(documents, whose_held_out_part_is_all_prompt_are_refused) {
  const SharedFolder folder;
  DataOptions options;
  options.held_out = 0.5;
  options.validation_words = 100;
  options.files = {folder.write(
      "a.jsonl",
      R"({"completion": "short"})"
      "\n" +
          nlohmann::json{{"prompt", std::string(400, 'q')}, {"completion", "x"}}.dump())};

  EXPECT_THAT(refusal([&] { Data(options, byte_model(16)); }),
              HasSubstr("no target counts in the 100 words of the part to validate on"));
  options.validation_words = 0;
  EXPECT_EQ(refusal([&] { Data(options, byte_model(16)); }), "");
}

std::vector<ProcessGrid> some_grids(std::int64_t ranks) {
  std::vector<ProcessGrid> grids{{1, 1, 1, ranks}};
  if (ranks == 2) grids = {{1, 1, 1, 2}, {2, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 2, 1}, {1, 1, 1, 1, 2}};
  if (ranks == 4) grids = {{1, 1, 1, 4}, {2, 1, 2, 1}, {1, 2, 1, 1, 2}};
  if (ranks == 8) grids = {{1, 1, 1, 8}, {2, 2, 2, 1}, {2, 1, 1, 2, 2}};
  return grids;
}

// Unequally many targets count on each rank and in each batch, in training and in validation.
TEST(left_out_targets, every_grid_loses_alike) {
  const SharedFolder folder;
  World world;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const nlohmann::json document{{"prompt", std::string(static_cast<std::size_t>(i % 40), 'q')},
                                  {"completion", "the quick brown fox " + std::to_string(i * i)}};
    text += document.dump() + "\n";
  }
  std::vector<TrainOutcome> outcomes;
  for (const ProcessGrid& grid : some_grids(world.size())) {
    TrainSettings settings;
    settings.model = byte_model(16);
    settings.data.files = {folder.write("a.jsonl", text)};
    settings.data.goldfish = {3, 4};
    settings.grid = grid;
    settings.options.precision = Precision::fp32;
    settings.options.recompute = Recompute::none;
    settings.options.micro_batches = 2;
    settings.length.steps = 5;
    settings.validate_every = 0;
    settings.sampling.tokens = 0;
    settings.screen = Screen::silent;
    settings.folder = folder.file(grid.str());
    outcomes.push_back(train_model(settings, world));
  }

  for (const TrainOutcome& outcome : outcomes) {
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(outcome.losses[i], outcomes[0].losses[i], 1e-4);
    EXPECT_NEAR(outcome.validation_loss, outcomes[0].validation_loss, 1e-4);
  }
  EXPECT_GT(outcomes[0].losses[0], 4.0);
}

}  // namespace
}  // namespace fourfold::tests
