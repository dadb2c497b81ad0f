// Tokens of 32 bits: a vocabulary that 16 bits cannot count, from the file to the update, beside
// the referee; and files whose width is not the one they are read with.
#include <fmt/format.h>
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

// A .npy of version 1, as NumPy writes it.
template <typename Word>
std::string npy_of(const std::string& type, const std::vector<Word>& words) {
  std::string head = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}",
                                 type, words.size());
  head.resize(117, ' ');
  head += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(head.size()) + '\0' + head +
         bytes_of(words);
}

// Megatron-LM's, of two sequences.
std::string index_of(char kind, std::int32_t words) {
  const std::vector<std::int64_t> version{1}, counts{2, 3};
  return std::string("MMIDIDX\0\0", 9) + bytes_of(version) + kind + bytes_of(counts) +
         bytes_of(std::vector<std::int32_t>{1, words - 1}) + std::string(40, 'x');
}

// The same words in every notation are the same words; where a file says its width, nobody else
// may.
TEST(WideTokens, AreTheSameHoweverTheyAreWritten) {
  const SharedFolder folder;
  const std::vector<std::uint32_t> wide = made_up(40);
  std::vector<std::uint16_t> narrow;
  for (const std::uint32_t word : wide) narrow.push_back(static_cast<std::uint16_t>(word));
  const std::vector<std::uint64_t> widest(wide.begin(), wide.end());
  const std::vector<std::int32_t> words(wide.begin(), wide.end());
  const std::vector<std::int32_t> small(narrow.begin(), narrow.end());

  EXPECT_EQ(all_words(folder.write("a.bin", bytes_of(narrow)), 0), small);
  EXPECT_EQ(all_words(folder.write("a.bin", bytes_of(wide)), 32), words);
  EXPECT_EQ(all_words(folder.write("a.bin", bytes_of(widest)), 64), words);
  EXPECT_EQ(all_words(folder.write("a.npy", npy_of("<u2", narrow)), 0), small);
  EXPECT_EQ(all_words(folder.write("a.npy", npy_of("<i4", wide)), 0), words);
  EXPECT_EQ(all_words(folder.write("a.npy", npy_of("<u8", widest)), 64), words);
  EXPECT_THAT(refusal([&] { all_words(folder.write("a.npy", npy_of("<f4", wide)), 0); }),
              HasSubstr("is a .npy of no whole numbers"));
  EXPECT_THAT(refusal([&] { all_words(folder.file("a.npy"), 16); }), HasSubstr("a .npy of no"));
  for (const auto& [kind, content] : {std::pair{'\x08', bytes_of(narrow)},
                                      {'\x04', bytes_of(wide)},
                                      {'\x05', bytes_of(widest)}}) {
    const std::string path = folder.write("m.bin", content);
    folder.write("m.idx", index_of(kind, 40));
    EXPECT_EQ(all_words(path, 0), kind == '\x08' ? small : words);
    EXPECT_THAT(refusal([&] { all_words(path, kind == '\x08' ? 32 : 16); }),
                HasSubstr("says in the .idx beside it that its tokens have"));
    for (const std::int32_t other : {39, 41}) {
      folder.write("m.idx", index_of(kind, other));
      EXPECT_THAT(refusal([&] { all_words(path, 0); }),
                  HasSubstr(fmt::format("the .idx beside it speaks of {} tokens", other)));
    }
  }
  const std::string npy = npy_of("<i4", wide);
  for (const std::string& other : {npy + "x", npy.substr(0, npy.size() - 1)}) {
    EXPECT_THAT(refusal([&] { all_words(folder.write("a.npy", other), 0); }),
                HasSubstr("its head speaks of 40 tokens"));
  }
  EXPECT_THAT(refusal([&] { all_words(folder.write("a.bin", bytes_of(widest)), 0); }),
              HasSubstr("give --token-bits 64"));
  EXPECT_THAT(refusal([&] { all_words(folder.write("a.bin", bytes_of(widest)), 32); }),
              HasSubstr("holds no 32-bit tokens"));
}

// Whatever it is called: by name if it is packed, by its place if a byte is of no text.
TEST(Texts, AreTextOrRefusedByWhatTheyAre) {
  const SharedFolder folder;
  const std::string rest(600, 'a');
  const auto said = [&](const std::string& content, const char* name = "a.txt") {
    const std::string path = folder.write(name, content);
    return refusal([&] { all_words(path, 0); });
  };
  std::string tar = rest;
  tar.replace(257, 5, "ustar");
  for (const auto& [content, what] : std::initializer_list<std::pair<std::string, const char*>>{
           {std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) + rest, "is packed by gzip"},
           {"\x28\xb5\x2f\xfd" + rest, "is packed by zstd"},
           {"PAR1" + rest, "is a parquet file"},
           {tar, "is a tar archive"},
           {"\xff\xfe" + rest, "is text in UTF-16"},
           {std::string("a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0", 20), "is text in UTF-16"}}) {
    for (const char* name : {"a.txt", "a.jsonl", "a"}) {
      EXPECT_THAT(said(content, name), HasSubstr(what));
    }
  }
  for (const std::size_t place : {0UL, 300UL, 599UL}) {
    std::string text = rest;
    text[place] = '\0';
    EXPECT_THAT(said(text), HasSubstr(fmt::format("a zero byte at place {} ", place)));
  }
  EXPECT_EQ(said(rest), "");
}

// All that is said stands there once, of which what the assistant says is learnt; what a line holds
// beside its text is not looked at.
TEST(Texts, OfLinesAreDocuments) {
  const SharedFolder folder;
  const std::string path = folder.write(
      "a.json",
      "{\"text\": \"one\", \"meta\": {\"url\": 1}}\n{\"text\": \"\"}\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}, {\"role\": \"assistant\", "
      "\"content\": \"yes\"}, {\"role\": \"user\", \"content\": \"r\"}, {\"role\": "
      "\"assistant\", \"content\": \"no\"}]}\n");
  const TokenFile file(path);
  std::string all, learnt;
  for (std::int64_t i = 0; i < file.words(); ++i) {
    all += static_cast<char>(file.read(i, 1).front());
    if (!file.is_of_prompt(i)) learnt += all.back();
  }

  EXPECT_EQ(all, std::string("one\0user: q\nassistant: yes\nuser: r\nassistant: no\n\0", 50));
  EXPECT_EQ(learnt, std::string("one\0yes\nno\n\0", 12));
  EXPECT_THAT(refusal([&] {
                TokenFile(folder.write("b.jsonl",
                                       "{\"messages\": [{\"role\": \"user\", "
                                       "\"content\": \"q\"}]}\n"));
              }),
              HasSubstr("in which no assistant says anything"));
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
