// Which words training reads: every sequence once an epoch, in an order that does not drift; which
// targets count; and what is said of ranks that read other words, and of files that are read twice.
#include "engine/train/data/data.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "engine/train/data/repeated_files.hpp"
#include "engine/train/run/same_data.hpp"
#include "support/random.hpp"
#include "tests/golden.hpp"
#include "tests/refusal.hpp"
#include "tests/train/shared_folder.hpp"
#include "tests/train/token_files.hpp"

namespace fourfold::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using data = InAFolder<>;
using documents = InAFolder<>;
using RepeatedFiles = InAFolder<>;

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

TEST_F(data, an_epoch_visits_every_sequence_once_and_the_next_in_another_order) {
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

TEST_F(data, validation_is_the_end_of_every_file_and_never_trained_on) {
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

TEST_F(data, of_which_none_or_all_is_held_out_is_refused) {
  DataOptions options = options_of(folder.write("a.txt", made_up_text()));
  for (const double share : {-0.1, 0.0, 0.01, 0.99, 1.0, 1.5, std::nan("")}) {
    options.held_out = share;
    const std::string said = refusal<std::exception>([&] { Data(options, byte_model(16)); });
    EXPECT_EQ(said == "accepted", share > 0.0 && share < 1.0) << said;
  }
}

// 39 words to train on and sequences of 16: an epoch is one sequence, cut at any of 23 places. Over
// many epochs every word is read, the last as a target alone, and none of what is held out.
TEST_F(data, epochs_are_cut_at_every_place_up_to_the_last_word) {
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

TEST_F(data, the_default_text_is_a_few_megabytes_of_english_or_its_package_is_named) {
  const Data data(DataOptions{}, byte_model(256));
  const double entropy = unigram_entropy(data.training_words(), 256);

  EXPECT_GT(data.training_words().words(), 2'000'000);
  EXPECT_GT(data.validation_words().words(), 200'000);
  EXPECT_GT(entropy, 3.0);
  EXPECT_LT(entropy, 3.5);
  EXPECT_THAT(refusal([&] { default_text(folder.path()); }), HasSubstr("package fortunes"));
  EXPECT_THAT(refusal([&] { default_text(folder.file("nowhere")); }), HasSubstr("fortunes"));
}

TEST_F(documents, are_text_whose_prompts_are_left_out) {
  DataOptions options;
  options.files = {folder.write("a.jsonl",
                                "{\"prompt\": \"what is 2?\", \"completion\": \"two\"}\n\n"
                                "{\"completion\": \"a day without sunshine is like night\"}\n")};
  options.validation_files = {folder.write("b.txt", made_up_text())};
  options.order = DataOrder::sequential;
  const Data data(options, byte_model(16));

  const LocalBatch batch = data.training(0, on_one_rank(1));

  EXPECT_TRUE(data.training_leaves_out());
  EXPECT_EQ(data.description(),
            "1 text file, 51 bytes to train on, 6000 held out; prompts are left out of the loss");
  EXPECT_EQ(std::string(batch.tokens.begin(), batch.tokens.end()),
            std::string("what is 2?two\0a ", 16));
  std::string targets;
  for (const std::int32_t word : batch.targets) {
    targets += word == ignored_target ? '-' : static_cast<char>(word);
  }
  EXPECT_EQ(targets, std::string("---------two\0a d", 16));
}

TEST_F(documents, whose_held_out_part_is_all_prompt_are_refused) {
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
TEST_F(data, for_a_seed_and_the_sums_of_checkpoints_are_the_golden_ones) {
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

const Model bytes{"bytes", 1, 8, 2, 8, 256};

// What is said where each rank has a file of its own, as if on a node of its own.
std::string said_of(const std::vector<std::string>& by_rank) {
  const SharedFolder folder;
  const World world;
  std::vector<std::string> paths;
  for (const std::string& text : by_rank) {
    paths.push_back(folder.write(std::to_string(paths.size()) + ".txt", text));
  }
  DataOptions options;
  options.files = {paths[static_cast<std::size_t>(world.rank())]};
  return refusal([&] { digest_of_all(Data(options, bytes), world); });
}

TEST(SameData, AreAskedOfAllRanks) {
  const auto ranks = static_cast<std::size_t>(world_size());
  std::vector<std::string> texts(ranks, std::string(400, 'x'));

  EXPECT_EQ(said_of(texts), "");
  if (ranks == 1) return;
  texts.back()[300] = 'y';
  EXPECT_THAT(said_of(texts), AllOf(HasSubstr("the data of rank " + std::to_string(ranks - 1) +
                                              " are not those of rank 0"),
                                    HasSubstr("as long, but other words")));
  texts.back() += "a word more";
  EXPECT_THAT(said_of(texts),
              HasSubstr("369 words to train on and 42 to validate on, instead of 360 and 40"));
  if (ranks == 2) return;
  texts.assign(ranks, std::string(500, 'x'));
  texts.front() = std::string(400, 'x');
  EXPECT_THAT(said_of(texts), HasSubstr("the data of ranks 1, 2"));
}

TEST(SameData, AreAskedOfRanksThatShareSequencesInEveryStep) {
  const ProcessGrid grid(2, 1, 2, 2);  // ranks 0 and 1, 2 and 3, ... have the same words
  std::vector<double> told{1, 1, 2, 2, 3, 3, 4, 4};

  EXPECT_EQ(refusal([&] { expect_same_words(told, grid); }), "");
  told[5] = 7;
  EXPECT_THAT(refusal([&] { expect_same_words(told, grid); }),
              HasSubstr("rank 5 read other words than rank 4"));
  const LocalBatch one{1, {1, 2}, {2, 3}}, other{1, {1, 2}, {2, 4}};
  EXPECT_EQ(fingerprint(one), fingerprint(one));
  EXPECT_NE(fingerprint(one), fingerprint(other));
}

TEST_F(RepeatedFiles, AreNamedByWhatTheyAreAndHold) {
  const std::string one = folder.write("one.txt", std::string(100, 'a'));
  const std::string same = folder.write("same.txt", std::string(100, 'a'));
  const std::string other = folder.write("other.txt", std::string(100, 'b'));
  const std::string longer = folder.write("longer.txt", std::string(101, 'a'));
  if (world_rank() == 0) std::filesystem::create_symlink(one, folder.file("link.txt"));
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string link = folder.file("link.txt");
  // Of another width, and with a header.
  const std::vector<std::uint32_t> sevens(101, 7);
  const std::string narrow =
      folder.write("narrow.bin", bytes_of(std::vector<std::uint16_t>(100, 7)));
  const std::string wide = folder.write("wide.bin", headed({magic_of_32_bits, 7, 101}, sevens));
  const std::string alike = folder.write(
      "alike.bin", headed({magic_of_32_bits, 7, 100}, std::vector<std::uint32_t>(100, 7)));
  struct Row {
    std::vector<std::string> training, validation;
    std::string sentence;
  };
  for (const Row& row : std::vector<Row>{
           {{one, other, longer}, {}, ""},
           {{other}, {longer}, ""},
           {{one, other, one}, {}, one + " is trained on twice"},
           {{one, link}, {}, link + " is trained on twice: it is " + one},
           {{one, same}, {other}, same + " is trained on twice: it holds what " + one + " holds"},
           {{other, one},
            {same},
            same + " is validated on, and trained on as well: it holds what " + one + " holds"},
           {{one}, {one}, one + " is validated on, and trained on as well"},
           {{one}, {other, other}, other + " is validated on twice"},
           {{narrow, alike},
            {},
            alike + " is trained on twice: it holds what " + narrow + " holds"},
           {{wide},
            {narrow},
            narrow + " is validated on, and trained on as well: it is a part of " + wide},
           {{other, longer},
            {one},
            one + " is validated on, and trained on as well: it is a part of " + longer},
           {{one, other},
            {longer},
            longer + " is validated on, and trained on, in part: it holds all of " + one}}) {
    DataOptions options;
    options.files = row.training;
    options.validation_files = row.validation;
    const std::vector<std::string> said = repeated_files(Data(options, bytes));
    EXPECT_EQ(said.empty() ? "" : said.front(), row.sentence);
    EXPECT_LE(said.size(), 1U);
  }
}

// Wherever the part begins and ends, also where the whole is read in pieces; and with a word that
// differs it is none.
TEST_F(RepeatedFiles, FindPartsWhereverTheyStand) {
  constexpr std::size_t words = 2'500'000, read_at_once = 1 << 20;
  std::string text(words, ' ');
  for (std::size_t i = 0; i < words; ++i) {
    text[i] = static_cast<char>('a' + random_at(7, 0, i) % 20);
  }
  DataOptions options;
  options.files = {folder.write("whole.txt", text)};
  for (const std::size_t begin : {std::size_t{0}, read_at_once - 10, words - 3000}) {
    for (const bool changed : {false, true}) {
      std::string part = text.substr(begin, 3000);
      if (changed) part.back() = '!';
      options.validation_files = {folder.write("part.txt", part)};
      EXPECT_EQ(repeated_files(Data(options, bytes)).size(), changed ? 0U : 1U) << begin;
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
