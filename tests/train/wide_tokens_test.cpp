// Tokens of 32 bits: a vocabulary that 16 bits cannot count, from the file to the update, beside
// the referee; and files whose width is not the one they are read with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/data/data.hpp"
#include "tests/train/one_run.hpp"
#include "tests/train/shared_folder.hpp"

namespace fourfold::tests {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename Word>
std::string bytes_of(const std::vector<Word>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Word)};
}

std::string headed(std::int32_t magic, std::int32_t version,
                   const std::vector<std::uint32_t>& tokens) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<std::int32_t>(tokens.size());
  return bytes_of(header) + bytes_of(tokens);
}

constexpr std::int64_t vocabulary = 70'000;

// Words of all sizes up to the last of the vocabulary.
std::vector<std::uint32_t> made_up(std::uint32_t count) {
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t i = 0; i < count; ++i) tokens.push_back((69'999 + i * 7'919) % vocabulary);
  return tokens;
}

std::vector<std::int32_t> all_words(const std::string& path, std::int64_t token_bits) {
  const WordStream words({path}, {0.0, 1.0}, token_bits);
  std::vector<std::int32_t> read;
  words.read(0, words.words(), vocabulary, read);
  return read;
}

TEST(WideTokens, AreReadWithAndWithoutAHeader) {
  const SharedFolder folder;
  const std::vector<std::uint32_t> tokens{69'999, 0, 65'536, 7};

  EXPECT_THAT(all_words(folder.write("a.bin", bytes_of(tokens)), 32),
              ElementsAre(69'999, 0, 65'536, 7));
  EXPECT_THAT(all_words(folder.write("b.bin", headed(20'240'801, 7, tokens)), 0),
              ElementsAre(69'999, 0, 65'536, 7));
  EXPECT_THAT(all_words(folder.write("b.bin", headed(20'240'801, 7, tokens)), 32),
              ElementsAre(69'999, 0, 65'536, 7));
}

TEST(WideTokens, OfAnotherWidthAreRefused) {
  const SharedFolder folder;
  const auto said = [&](const std::string& content, std::int64_t token_bits) {
    const std::string path = folder.write("a.bin", content);
    return refusal([&] { all_words(path, token_bits); });
  };
  std::vector<std::uint32_t> small;
  for (std::uint32_t i = 0; i < 100; ++i) small.push_back(i % 50);
  std::vector<std::uint16_t> narrow;
  for (std::uint32_t i = 0; i < 100; ++i) narrow.push_back(static_cast<std::uint16_t>(i * 631));

  EXPECT_THAT(said(bytes_of(small), 0),
              AllOf(HasSubstr("looks like 32-bit tokens"), HasSubstr("give --token-bits 32")));
  EXPECT_THAT(said(bytes_of(made_up(100)), 16), HasSubstr("looks like 32-bit tokens"));
  EXPECT_THAT(said(bytes_of(narrow), 32),
              AllOf(HasSubstr("holds no 32-bit tokens"), HasSubstr("leave --token-bits 32 out")));
  EXPECT_EQ(said(bytes_of(narrow), 0), "");
  EXPECT_EQ(said(bytes_of(std::vector<std::uint16_t>(100, 0)), 0), "");
  EXPECT_THAT(said(bytes_of(std::vector<std::uint16_t>(5, 1)), 32),
              HasSubstr("has 10 bytes, no multiple of 4, and so does not hold 32-bit tokens"));
  EXPECT_THAT(said(headed(20'240'801, 7, small), 16),
              HasSubstr("says in its header that its tokens have 32 bits; leave --token-bits 16"));
  EXPECT_THAT(said(bytes_of(std::vector<std::uint32_t>{1, 4'294'967'295}), 32),
              HasSubstr("holds token 4294967295 at place 1 (the first is 0), beyond 2147483647"));
  EXPECT_THAT(said(bytes_of(std::vector<std::uint32_t>{1, 2'147'483'647}), 32),
              HasSubstr("this file needs one of at least 2147483648"));
  for (const char* name : {"a.txt", "a", "a.jsonl"}) {
    const std::string path = folder.write(name, "{\"prompt\": \"a\", \"completion\": \"b\"}\n");
    EXPECT_THAT(refusal([&] { all_words(path, 32); }),
                HasSubstr("holds bytes as words; leave --token-bits 32 out"));
  }
}

// From a file of 32-bit tokens on one and on two ranks, whichever axis they lie along.
TEST(WideTokens, TrainAsTheRefereeSays) {
  if (world_size() > 2) GTEST_SKIP() << "two ranks cut the vocabulary";
  const SharedFolder folder;
  DataOptions options;
  options.files = {folder.write("a.bin", bytes_of(made_up(400)))};
  options.token_bits = 32;
  Case what;
  what.model = {"wide", 1, 8, 2, 4, vocabulary};
  what.options.precision = Precision::fp32;
  what.sequences = 4;
  const Data data(options, what.model);
  std::int32_t largest = 0;
  for (const ProcessGrid& grid : grids_of_all_ranks()) {
    SCOPED_TRACE(grid.str());
    what.grid = grid;
    ReferenceBackend backend;
    OneRun run(what, {}, backend);
    Lockstep<float> referee(what.model, what.options, grid, run_seed, Rounding::recorded);
    roughen(what.model, referee);
    for (std::int64_t number = 1; number <= 2; ++number) {
      const auto read = [&](const ProcessGrid& on, std::int64_t rank) {
        return data.training((number - 1) * what.sequences, {on, rank, what.sequences, 1});
      };
      const LocalBatch whole = read({1, 1, 1, 1}, 0);

      const ExecutedStep step =
          run.executor.step(read(grid, run.rank), optimizer_of_tests(), number);
      const StepResult expected =
          referee.step({what.sequences, whole.tokens, whole.targets}, optimizer_of_tests());

      largest = std::max(largest, std::ranges::max(whole.tokens));
      EXPECT_NEAR(step.loss, expected.loss, 1e-5 * expected.loss);
      EXPECT_NEAR(step.gradient_norm, expected.gradient_norm, 1e-4 * expected.gradient_norm);
    }
  }
  EXPECT_GT(largest, 65'535);
}

}  // namespace
}  // namespace fourfold::tests
