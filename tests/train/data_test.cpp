// Which words training reads: every sequence once an epoch, the same batch on every grid, resumable
// from a position alone.
#include "engine/train/data/data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/train/shared_folder.hpp"

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

BatchShare on_one_rank(std::int64_t sequences, std::int64_t micro_batches = 1) {
  return {ProcessGrid(1, 1, 1, 1), 0, sequences, micro_batches};
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

TEST(data, gives_bytes_of_the_text_and_the_bytes_that_follow_them) {
  const SharedFolder folder;
  const std::string text = made_up_text();
  const Data data(options_of(folder.write("a.txt", text)), byte_model(16));

  const LocalBatch batch = data.training(5, on_one_rank(8));

  ASSERT_EQ(batch.tokens.size(), 128U);
  for (std::size_t s = 0; s < 8; ++s) {
    const std::string tokens(batch.tokens.begin() + s * 16, batch.tokens.begin() + s * 16 + 16);
    const std::string targets(batch.targets.begin() + s * 16, batch.targets.begin() + s * 16 + 16);
    const std::size_t place = text.find(tokens);
    ASSERT_NE(place, std::string::npos);
    EXPECT_EQ(targets, text.substr(place + 1, 16));
    EXPECT_LE(place + 17, 5400U) << "the last tenth is held out";
  }
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

TEST(data, sequential_order_goes_from_front_to_back_and_starts_again) {
  const SharedFolder folder;
  const std::string text = made_up_text();
  const Data data(options_of(folder.write("a.txt", text), DataOrder::sequential), byte_model(16));
  const std::int64_t size = data.training_sequences();

  const LocalBatch batch = data.training(size - 1, on_one_rank(2));

  const std::string read(batch.tokens.begin(), batch.tokens.end());
  EXPECT_EQ(read, text.substr(static_cast<std::size_t>(size - 1) * 16, 16) + text.substr(0, 16));
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

TEST(data, all_that_resuming_needs_is_the_position) {
  const SharedFolder folder;
  const std::string file = folder.write("a.txt", made_up_text());
  const Data first(options_of(file), byte_model(16));
  const Data second(options_of(file), byte_model(16));

  // Two steps of four sequences and one of eight read the same.
  const LocalBatch whole = first.training(400, on_one_rank(8));
  LocalBatch halves = second.training(400, on_one_rank(4));
  const LocalBatch later = second.training(404, on_one_rank(4));
  halves.tokens.insert(halves.tokens.end(), later.tokens.begin(), later.tokens.end());

  EXPECT_EQ(halves.tokens, whole.tokens);
}

TEST(data, another_seed_is_another_order) {
  const SharedFolder folder;
  DataOptions options = options_of(folder.write("a.txt", made_up_text()));
  const Data first(options, byte_model(16));
  options.seed = 4;
  const Data second(options, byte_model(16));

  EXPECT_NE(first.training(0, on_one_rank(4)).tokens, second.training(0, on_one_rank(4)).tokens);
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

TEST(data, a_file_to_validate_on_leaves_the_others_whole) {
  const SharedFolder folder;
  DataOptions options = options_of(folder.write("a.txt", std::string(100, 'a')));
  options.validation_files = {folder.write("b.txt", std::string(50, 'b'))};

  const Data data(options, byte_model(16));

  EXPECT_EQ(data.training_words().words(), 100);
  EXPECT_EQ(data.validation_words().words(), 50);
  EXPECT_EQ(data.description(), "1 text file, 100 bytes to train on, 50 held out");
}

TEST(data, the_shortest_text_is_one_sequence_and_its_last_target) {
  const SharedFolder folder;
  DataOptions options = options_of(folder.write("a.txt", "0123456789abcdefg"));
  options.validation_files = options.files;

  const Data data(options, byte_model(16));

  EXPECT_EQ(data.training_sequences(), 1);
  const LocalBatch batch = data.training(7, on_one_rank(1));
  EXPECT_EQ(std::string(batch.targets.begin(), batch.targets.end()), "123456789abcdefg");
}

TEST(data, entropy_of_single_words_is_that_of_their_frequencies) {
  const SharedFolder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += "aabc";
  const WordStream words({folder.write("a.txt", text)}, {0.0, 1.0});

  const double entropy = unigram_entropy(words, 256);

  EXPECT_NEAR(entropy, 1.5 * std::log(2.0), 1e-12);
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

TEST(data, a_permutation_hits_every_place_once) {
  for (std::int64_t size : {1, 2, 3, 7, 64, 65, 1000}) {
    std::set<std::int64_t> places;
    for (std::int64_t i = 0; i < size; ++i) places.insert(permuted(i, size, 11));

    EXPECT_EQ(static_cast<std::int64_t>(places.size()), size);
    EXPECT_EQ(*places.begin(), 0);
    EXPECT_EQ(*places.rbegin(), size - 1);
  }
}

}  // namespace
}  // namespace fourfold::tests
