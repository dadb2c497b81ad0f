// Token shards as nanoGPT and llm.c write them, and the files that are refused, each in a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/data/data.hpp"
#include "tests/refusal.hpp"
#include "tests/train/one_rank.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using DataFiles = OneRank;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string tokens_as_bytes(const std::vector<std::uint16_t>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * 2};
}

std::string llmc_shard(std::int32_t magic, std::int32_t version, std::int32_t count,
                       const std::vector<std::uint16_t>& tokens) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return std::string(reinterpret_cast<const char*>(header.data()), 1024) + tokens_as_bytes(tokens);
}

Model word_model(std::int64_t vocabulary) {
  return {"words", 1, 8, 2, 4, vocabulary};
}

std::vector<std::int32_t> all_words(const std::vector<std::string>& paths) {
  const WordStream words(paths, {0.0, 1.0});
  std::vector<std::int32_t> read;
  words.read(0, words.words(), 65'536, read);
  return read;
}

// What is said when this file is all there is to train on.
std::string refusal_of(const std::string& path) {
  DataOptions options;
  options.files = {path};
  options.validation_files = {path};
  return refusal([&] {
    const Data data(options, word_model(50'257));
    data.training(0, {ProcessGrid(1, 1, 1, 1), 0, 1, 1});
  });
}

TEST_F(DataFiles, AreToldApartByTheirWordsAndPrompts) {
  const SharedFolder folder;
  const auto digest = [&](const std::string& name, const std::string& content) {
    DataOptions options;
    options.files = {folder.write(name, content)};
    options.validation_files = {folder.write("b.txt", std::string(100, 'b'))};
    return Data(options, {"bytes", 1, 8, 2, 4, 256}).digest();
  };
  std::string text(9'000'000, 'x');  // of which not every word is looked at
  const std::string first = digest("a.txt", text);

  EXPECT_EQ(digest("c.txt", text), first);
  EXPECT_NE(digest("a.txt", text + "x"), first);
  text[0] = 'y';
  EXPECT_NE(digest("a.txt", text), first);
  EXPECT_NE(digest("a.jsonl", R"({"prompt": "one", "completion": "two, three"})"),
            digest("a.jsonl", R"({"prompt": "onet", "completion": "wo, three"})"));
}

TEST(data_files, a_file_that_becomes_shorter_while_it_is_read_is_refused_in_words) {
  const SharedFolder folder;
  const std::string path = folder.write("a.txt", std::string(10'000, 'x'));
  const WordStream words({path}, {0.0, 1.0});
  std::vector<std::int32_t> read;
  words.read(9'000, 1'000, 256, read);

  folder.write("a.txt", std::string(5'000, 'x'));

  words.read(0, 5'000, 256, read);
  EXPECT_THAT(refusal([&] { words.read(4'000, 2'000, 256, read); }),
              HasSubstr("a.txt has become shorter while it was used: byte 5000 is gone"));
}

TEST(data_files, text_and_tokens_do_not_mix) {
  const SharedFolder folder;
  const std::string text = folder.write("a.txt", "some text to read");
  const std::string tokens = folder.write("a.bin", tokens_as_bytes({1, 2, 3, 4, 5, 6, 7, 8}));

  EXPECT_THAT(refusal([&] {
                all_words({text, tokens});
              }),
              AllOf(HasSubstr("a.bin holds tokens as words"), HasSubstr("a.txt holds bytes")));
  DataOptions options;
  options.files = {text};
  options.validation_files = {tokens};
  EXPECT_THAT(refusal([&] { const Data data(options, word_model(50'257)); }),
              HasSubstr("to validate on tokens"));
}

TEST(data_files, llmc_shards_have_256_numbers_of_header) {
  const SharedFolder folder;
  const std::string path = folder.write("a.bin", llmc_shard(20'240'520, 1, 3, {50'256, 7, 300}));

  EXPECT_THAT(all_words({path}), ElementsAre(50'256, 7, 300));
}

TEST(data_files, shards_follow_one_another_in_the_order_of_their_names) {
  const SharedFolder folder;
  folder.write("train_1.bin", tokens_as_bytes({4, 5, 6, 7, 8}));
  folder.write("train_0.bin", llmc_shard(20'240'520, 1, 3, {1, 2, 3}));
  DataOptions options;
  options.files = {folder.file("train_*.bin")};
  options.validation_files = options.files;
  options.order = DataOrder::sequential;

  const Data data(options, word_model(16));
  const LocalBatch batch = data.training(0, {ProcessGrid(1, 1, 1, 1), 0, 1, 1});

  EXPECT_THAT(batch.tokens, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(batch.targets, ElementsAre(2, 3, 4, 5));
}

TEST(data_files, what_cannot_be_trained_on_is_refused_by_name) {
  const SharedFolder folder;

  EXPECT_THAT(refusal_of(folder.file("none.txt")),
              AllOf(HasSubstr("none.txt"), HasSubstr("No such file")));
  EXPECT_THAT(refusal_of(folder.file("*.bin")), HasSubstr("no file matches"));
  EXPECT_THAT(refusal_of(folder.path()), HasSubstr("is no file"));
  EXPECT_THAT(refusal_of(folder.write("empty.txt", "")), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of(folder.write("short.txt", "abcd")),
              AllOf(HasSubstr("too short"), HasSubstr("needs 5")));
  EXPECT_THAT(refusal_of(folder.write("odd.bin", "abcdefghijklmno")),
              AllOf(HasSubstr("15 bytes"), HasSubstr("16-bit tokens")));
}

TEST(data_files, of_another_vocabulary_are_found_without_reading_all_of_them) {
  const SharedFolder folder;
  std::vector<std::uint16_t> tokens(100'000, 1);
  for (std::size_t i = 50'000; i < 60'000; ++i) tokens[i] = 300;
  const WordStream words({folder.write("a.bin", tokens_as_bytes(tokens))}, {0.0, 1.0});

  EXPECT_THAT(refusal([&] { words.expect_within(256, 50'000); }), HasSubstr("at least 301"));
  EXPECT_EQ(refusal([&] { words.expect_within(301, 50'000); }), "");
}

std::int64_t resident_bytes() {
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

// 1.5 billion tokens, of which only the last four are not zero; the file has holes.
TEST(data_files, of_3_GB_take_the_memory_of_what_is_read) {
  constexpr std::int64_t bytes = std::int64_t{3} << 30;
  const SharedFolder folder;
  const std::string path = folder.write("huge.bin", "");
  if (world_rank() == 0) {
    std::filesystem::resize_file(path, bytes - 8);
    std::ofstream(path, std::ios::binary | std::ios::app) << tokens_as_bytes({7, 8, 9, 10});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const std::int64_t before = resident_bytes();
  DataOptions options;
  options.files = {path};

  const Data data(options, word_model(11));
  for (std::int64_t step = 0; step < 100; ++step) {
    data.training(step, {ProcessGrid(1, 1, 1, 1), 0, 1, 1});
  }
  std::vector<std::int32_t> last;
  const WordStream words({path}, {0.0, 1.0});
  words.read(words.words() - 4, 4, 11, last);

  EXPECT_EQ(words.words(), bytes / 2);
  EXPECT_THAT(last, ElementsAre(7, 8, 9, 10));
  EXPECT_LT(resident_bytes() - before, std::int64_t{64} << 20);
}

TEST(data_files, impossible_choices_are_refused) {
  const SharedFolder folder;
  DataOptions options;
  options.files = {folder.write("a.txt", std::string(100, 'a'))};
  const Data data(options, word_model(256));

  EXPECT_THAT(refusal([&] {
                data.training(0, {ProcessGrid(1, 1, 2, 2), 0, 6, 1});
              }),
              HasSubstr("multiple of micro-batches x z x data = 4"));
  options.held_out = 1.0;
  EXPECT_THAT(refusal([&] { Data(options, word_model(256)); }), HasSubstr("between 0 and 1"));
  EXPECT_THAT(refusal([] { parse_data_order("random"); }), HasSubstr("shuffled, sequential"));
}

// A pattern is somebody's text, too: its walk over folders has an end.
TEST_F(DataFiles, APatternThatLeadsEverywhereIsRefused) {
  const auto refused = [](const std::string& pattern) {
    return refusal([&] { files_matching({pattern}); });
  };
  EXPECT_THAT(refused("/*/*/*/*/*/*/*/*/nothing"), HasSubstr("name the files"));
  EXPECT_THAT(refused("/tmp/" + std::string(30, '*') + "b"), HasSubstr("more than 8 stars"));
  EXPECT_THAT(refused("/tmp/[a]" + std::string(300'000, '?')), HasSubstr("longer than 4096"));
  EXPECT_THAT(refused("/nowhere/*.txt"), HasSubstr("no file matches"));
}

}  // namespace
}  // namespace fourfold::tests
