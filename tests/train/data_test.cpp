// Which words training reads: every sequence once an epoch, the same batch on every grid, in an
// order that does not drift; and which targets count.
#include "engine/train/data/data.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "tests/golden.hpp"
#include "tests/train/token_files.hpp"

namespace fourfold::tests {
namespace {

using testing::HasSubstr;

Model byte_model(std::int64_t sequence) {
  return {"bytes", 1, 8, 2, sequence, 256};
}

// 6,000 bytes that do not repeat within any window of four.
std::string made_up_text() {
  std::string text;
  for (int i = 0; i < 1500; ++i) text += std::to_string(1000 + i);
  return text;
}

DataOptions options_of(const std::string& file, DataOrder order = DataOrder::shuffled) {
  DataOptions options;
  options.files = {file};
  options.order = order;
  options.seed = 3;
  return options;
}

// The step's words in global order, put together from what the ranks of a grid are given.
LocalBatch assembled(const Data& data, std::int64_t position, const BatchShare& cut,
                     std::int64_t sequence) {
  LocalBatch whole;
  whole.sequences = cut.sequences;
  const auto count = static_cast<std::size_t>(cut.sequences * sequence);
  whole.tokens.assign(count, -1);
  whole.targets.assign(count, -1);
  for (std::int64_t rank = 0; rank < cut.grid.size(); ++rank) {
    BatchShare share_of_rank = cut;
    share_of_rank.rank = rank;
    const LocalBatch local = data.training(position, share_of_rank);
    const std::int64_t line = cut.grid.extent(Axis::z) * cut.grid.extent(Axis::data);
    const std::int64_t part = cut.sequences / cut.micro_batches / line * sequence;
    const auto coordinates = cut.grid.coordinates(rank);
    const std::int64_t place = coordinates[2] + cut.grid.extent(Axis::z) * coordinates[3];
    for (std::size_t i = 0; i < local.tokens.size(); ++i) {
      const std::int64_t m = static_cast<std::int64_t>(i) / part;
      const auto to = static_cast<std::size_t>((m * line + place - m) * part) + i;
      EXPECT_TRUE(whole.tokens[to] == -1 || whole.tokens[to] == local.tokens[i]);
      whole.tokens[to] = local.tokens[i];
      whole.targets[to] = local.targets[i];
    }
  }
  return whole;
}

TEST(data, an_epoch_visits_every_sequence_once_and_the_next_in_another_order) {
  const SharedFolder folder;
  const Data data(options_of(folder.write("a.txt", made_up_text())), byte_model(16));
  const std::int64_t size = data.training_sequences();

  std::vector<std::set<std::vector<std::int32_t>>> epochs(2);
  std::vector<std::vector<std::int32_t>> first_of_epoch;
  for (std::int64_t i = 0; i < 2 * size; ++i) {
    const LocalBatch batch = data.training(i, on_one_rank(1));
    epochs[static_cast<std::size_t>(i / size)].insert(batch.tokens);
    if (i % size == 0) first_of_epoch.push_back(batch.tokens);
  }

  EXPECT_EQ(size, (5400 - 16) / 16);
  EXPECT_EQ(epochs[0].size(), static_cast<std::size_t>(size));
  EXPECT_EQ(epochs[1].size(), static_cast<std::size_t>(size));
  EXPECT_NE(epochs[0], epochs[1]) << "every epoch is cut at another place";
  EXPECT_NE(first_of_epoch[0], first_of_epoch[1]);
}

TEST(data, every_grid_sees_the_same_batch) {
  const SharedFolder folder;
  const Data data(options_of(folder.write("a.txt", made_up_text())), byte_model(16));

  for (std::int64_t micro_batches : {1, 2}) {
    const LocalBatch expected = data.training(24, on_one_rank(16, micro_batches));
    for (const char* grid :
         {"2x1x1x1", "1x1x2x1", "1x1x1x2", "1x2x2x2", "2x1x2x2", "1x1x2x4", "1x1x8x1", "1x1x4x2"}) {
      const BatchShare cut{ProcessGrid::parse(grid), 0, 16, micro_batches};
      const LocalBatch batch = assembled(data, 24, cut, 16);

      EXPECT_EQ(batch.tokens, expected.tokens) << grid;
      EXPECT_EQ(batch.targets, expected.targets) << grid;
    }
  }
}

TEST(data, validation_is_the_end_of_every_file_and_never_trained_on) {
  const SharedFolder folder;
  const std::string training(900, 'a');
  const std::string held_out(100, 'b');
  folder.write("one.txt", training + held_out);
  folder.write("two.txt", training + held_out);
  const Data data(options_of(folder.file("*.txt")), byte_model(16));

  EXPECT_EQ(data.training_words().words(), 1800);
  EXPECT_EQ(data.validation_words().words(), 200);
  for (std::int64_t i = 0; i < 2 * data.training_sequences(); ++i) {
    const LocalBatch batch = data.training(i, on_one_rank(1));
    EXPECT_THAT(batch.targets, testing::Each('a'));
  }
  std::int64_t counted = 0;
  for (std::int64_t i = 0; i < 2 * data.held_out().count(); ++i) {
    const LocalBatch batch = data.held_out().batch(i, on_one_rank(1));
    EXPECT_THAT(batch.targets, testing::Each(testing::AnyOf('b', ignored_target)));
    counted += counted_targets(batch.targets);
  }
  EXPECT_EQ(counted, 199);
}

// 39 words to train on and sequences of 16: an epoch is one sequence, cut at any of 23 places. Over
// many epochs every word is read, the last as a target alone, and none of what is held out.
TEST(data, epochs_are_cut_at_every_place_up_to_the_last_word) {
  const SharedFolder folder;
  std::string text;
  for (int i = 0; i < 39; ++i) text += static_cast<char>('A' + i);
  DataOptions options = options_of(folder.write("a.txt", text + std::string(39, 'z')));
  options.held_out = 0.5;
  const Data data(options, byte_model(16));
  std::set<std::int32_t> first, targets;
  for (std::int64_t epoch = 0; epoch < 600; ++epoch) {
    const LocalBatch batch = data.training(epoch, on_one_rank(1));
    first.insert(batch.tokens.front());
    targets.insert(batch.targets.begin(), batch.targets.end());
  }

  EXPECT_EQ(data.training_words().words(), 39);
  EXPECT_EQ(data.training_sequences(), 1);
  EXPECT_EQ(first.size(), 23U);
  EXPECT_EQ(targets.size(), 38U);
  EXPECT_EQ(*targets.begin(), 'B');
  EXPECT_EQ(*targets.rbegin(), 'A' + 38);
}

TEST(data, the_default_text_is_there_and_is_a_few_megabytes_of_english) {
  const Data data(DataOptions{}, byte_model(256));

  const double entropy = unigram_entropy(data.training_words(), 256);

  EXPECT_GT(data.training_words().words(), 2'000'000);
  EXPECT_GT(data.validation_words().words(), 200'000);
  EXPECT_GT(entropy, 3.0);
  EXPECT_LT(entropy, 3.5);
}

TEST(data, a_missing_default_text_names_the_package) {
  const SharedFolder folder;

  EXPECT_THAT(refusal([&] { default_text(folder.path()); }), HasSubstr("package fortunes"));
  EXPECT_THAT(refusal([&] { default_text(folder.file("nowhere")); }), HasSubstr("fortunes"));
}

TEST(documents, are_text_whose_prompts_are_left_out) {
  const SharedFolder folder;
  DataOptions options;
  options.files = {folder.write("a.jsonl",
                                "{\"prompt\": \"what is 2?\", \"completion\": \"two\"}\n\n"
                                "{\"completion\": \"a day without sunshine is like night\"}\n")};
  options.validation_files = {folder.write("b.txt", made_up_text())};
  options.order = DataOrder::sequential;
  const Data data(options, byte_model(16));

  const LocalBatch batch = data.training(0, on_one_rank(1));

  EXPECT_TRUE(data.training_leaves_out());
  EXPECT_EQ(std::string(batch.tokens.begin(), batch.tokens.end()),
            std::string("what is 2?two\0a ", 16));
  std::string targets;
  for (const std::int32_t word : batch.targets) {
    targets += word == ignored_target ? '-' : static_cast<char>(word);
  }
  EXPECT_EQ(targets, std::string("---------two\0a d", 16));
}

TEST(documents, whose_held_out_part_is_all_prompt_are_refused) {
  const SharedFolder folder;
  DataOptions options;
  options.held_out = 0.5;
  options.validation_words = 100;
  options.files = {folder.write("a.jsonl", "{\"completion\": \"short\"}\n{\"prompt\": \"" +
                                               std::string(400, 'q') +
                                               "\", \"completion\": \"x\"}")};

  EXPECT_THAT(refusal([&] { Data(options, byte_model(16)); }),
              HasSubstr("no target counts in the 100 words of the part to validate on"));
  options.validation_words = 0;
  EXPECT_EQ(refusal([&] { Data(options, byte_model(16)); }), "");
}

// Goldfish's hash is part of what a run means: another one would leave out other words. What has
// too few words before it is kept.
TEST(goldfish, has_a_hash_that_stays) {
  std::string mask;
  for (std::int32_t word = 0; word < 32; ++word) {
    mask += Goldfish{2, 2}.leaves_out(std::vector<std::int32_t>{word, 7}) ? 'x' : '.';
  }

  EXPECT_EQ(mask, ".xx.xx.x..x...xxx.xx..x.......xx");
  EXPECT_FALSE((Goldfish{2, 3}.leaves_out(std::vector<std::int32_t>{1, 2})));
  EXPECT_FALSE((Goldfish{0, 0}.leaves_out(std::vector<std::int32_t>{})));
}

std::string words_of(const LocalBatch& batch) {
  std::string text;
  const auto add = [&](const std::vector<std::int32_t>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i > 0 && i % 8 == 0) text += ' ';  // the next sequence
      text += static_cast<char>(words[i]);
    }
  };
  add(batch.tokens);
  text += '|';
  add(batch.targets);
  return text + '\n';
}

// They must not drift, or no run could be repeated, and no checkpoint read.
TEST(data, for_a_seed_and_the_sums_of_checkpoints_are_the_golden_ones) {
  const SharedFolder folder;
  std::string text;
  for (const auto& [size, key] : {std::pair{1, 1}, {2, 1}, {7, 1}, {16, 5}, {17, 5}, {33, 9}}) {
    for (std::int64_t i = 0; i < size; ++i) {
      text += fmt::format("{} ", permuted(i, size, static_cast<std::uint64_t>(key)));
    }
    text += '\n';
  }
  DataOptions options;
  options.files = {folder.write("text.txt", made_up_text())};
  options.seed = 3;
  for (DataOrder order : {DataOrder::shuffled, DataOrder::sequential}) {
    options.order = order;
    const Data data(options, {"bytes", 1, 8, 2, 8, 256});
    text += data.description() + fmt::format(": {} and {} sequences\n", data.training_sequences(),
                                             data.held_out().count());
    for (std::int64_t position : {0, 5, 663, 664, 671, 700, 1400}) {
      text += words_of(data.training(position, on_one_rank(2)));
      text += words_of(data.training(position, {ProcessGrid(1, 1, 2, 2), 3, 8, 2}));
    }
    for (std::int64_t position : {0, 1, 60}) {
      text += words_of(data.held_out().batch(position, on_one_rank(2)));
    }
    text += fmt::format("{:.9g} nats\n", unigram_entropy(data.validation_words(), 256));
  }
  const std::vector<float> values{1.0F, -2.5F, 0.0F};
  EXPECT_EQ(checksum(values, 0), 0x9dd0f08f37a97caeU);
  EXPECT_EQ(checksum(values, 5), 0x3159e81a6aa00fe2U);
  EXPECT_EQ(checksum("a text"), 0x36a125529c5e31fbU);
  expect_golden("train_numbers.txt", text);
}

}  // namespace
}  // namespace fourfold::tests
