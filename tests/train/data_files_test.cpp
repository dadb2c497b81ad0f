// Token shards as nanoGPT, llm.c, NumPy and Megatron-LM write them, of 16 bits and of more,
// documents, and the files that are refused, each in a sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/token_files.hpp"

namespace fourfold::tests {
namespace {

using DataFiles = InAFolder<OneRank>;
using WideTokens = InAFolder<OneRank>;
using Texts = InAFolder<OneRank>;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Model word_model(std::int64_t vocabulary) {
  return {"words", 1, 8, 2, 4, vocabulary};
}

TEST_F(DataFiles, AreToldApartByTheirWordsAndPrompts) {
  const auto digest = [&](const std::string& name, const std::string& content,
                          const std::string& validation = "some other words") {
    DataOptions options;
    options.files = {folder.write(name, content)};
    options.validation_files = {folder.write("b.txt", validation)};
    return Data(options, {"bytes", 1, 8, 2, 4, 256}).digest();
  };
  std::string text(9'000'000, 'x');  // of which not every word is looked at
  const std::string first = digest("a.txt", text);

  EXPECT_EQ(digest("c.txt", text), first);
  EXPECT_EQ(first.size(), 32U);
  EXPECT_NE(digest("a.txt", text, "some other wordt"), first);
  EXPECT_NE(digest("a.txt", text + "x"), first);
  EXPECT_NE(digest("a.txt", "some words", "other words"),
            digest("a.txt", "other words", "some words"));
  text[0] = 'y';
  EXPECT_NE(digest("a.txt", text), first);
  EXPECT_NE(digest("a.jsonl", R"({"prompt": "one", "completion": "two, three"})"),
            digest("a.jsonl", R"({"prompt": "onet", "completion": "wo, three"})"));
}

TEST_F(DataFiles, a_file_that_becomes_shorter_while_it_is_read_is_refused_in_words) {
  const std::string path = folder.write("a.txt", std::string(10'000, 'x'));
  const WordStream words({path}, {0.0, 1.0});
  std::vector<std::int32_t> read;
  words.read(9'000, 1'000, 256, read);

  folder.write("a.txt", std::string(5'000, 'x'));

  words.read(0, 5'000, 256, read);
  EXPECT_THAT(refusal([&] { words.read(4'000, 2'000, 256, read); }),
              HasSubstr("a.txt has become shorter while it was used: byte 5000 is gone"));
}

TEST_F(DataFiles, text_and_tokens_do_not_mix) {
  const std::string text = folder.write("a.txt", "some text to read");
  const std::string tokens = folder.write("a.bin", bytes_of(std::vector<std::uint16_t>(8, 1)));

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

TEST_F(DataFiles, shards_follow_one_another_in_the_order_of_their_names) {
  folder.write("train_1.bin", bytes_of(std::vector<std::uint16_t>{4, 5, 6, 7, 8}));
  folder.write("train_0.bin",
               headed({magic_of_16_bits, 1, 3}, std::vector<std::uint16_t>{1, 2, 3}));
  DataOptions options;
  options.files = {folder.file("train_*.bin")};
  options.validation_files = options.files;
  options.order = DataOrder::sequential;

  const Data data(options, word_model(16));
  const LocalBatch batch = data.training(0, on_one_rank(1));

  EXPECT_THAT(batch.tokens, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(batch.targets, ElementsAre(2, 3, 4, 5));
}

TEST_F(DataFiles, of_another_vocabulary_are_found_without_reading_all_of_them) {
  std::vector<std::uint16_t> tokens(100'000, 1);
  for (std::size_t i = 50'000; i < 60'000; ++i) tokens[i] = 300;
  const WordStream words({folder.write("a.bin", bytes_of(tokens))}, {0.0, 1.0});

  EXPECT_THAT(refusal([&] { words.expect_within(256, 50'000); }), HasSubstr("at least 301"));
  EXPECT_EQ(refusal([&] { words.expect_within(301, 50'000); }), "");
}

std::int64_t resident_bytes() {
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

// 1.5 billion tokens, of which only the last four are not zero; the file has holes.
TEST_F(DataFiles, of_3_GB_take_the_memory_of_what_is_read) {
  constexpr std::int64_t bytes = std::int64_t{3} << 30;
  const std::string path = folder.write("huge.bin", "");
  if (world_rank() == 0) {
    std::filesystem::resize_file(path, bytes - 8);
    std::ofstream(path, std::ios::binary | std::ios::app)
        << bytes_of(std::vector<std::uint16_t>{7, 8, 9, 10});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const std::int64_t before = resident_bytes();
  DataOptions options;
  options.files = {path};

  const Data data(options, word_model(11));
  for (std::int64_t step = 0; step < 100; ++step) {
    data.training(step, on_one_rank(1));
  }
  std::vector<std::int32_t> last;
  const WordStream words({path}, {0.0, 1.0});
  words.read(words.words() - 4, 4, 11, last);

  EXPECT_EQ(words.words(), bytes / 2);
  EXPECT_THAT(last, ElementsAre(7, 8, 9, 10));
  EXPECT_LT(resident_bytes() - before, std::int64_t{64} << 20);
}

TEST_F(DataFiles, impossible_choices_are_refused) {
  DataOptions options;
  options.files = {folder.write("a.txt", std::string(100, 'a'))};

  EXPECT_THAT(refusal([&] {
                Data(options, word_model(256)).training(0, {ProcessGrid(1, 1, 2, 2), 0, 6, 1});
              }),
              HasSubstr("multiple of micro-batches x z x data = 4"));
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

constexpr std::int64_t vocabulary = 70'000;

// Words of all sizes up to the last of the vocabulary.
std::vector<std::uint32_t> made_up(std::uint32_t count) {
  std::vector<std::uint32_t> tokens;
  for (std::uint32_t i = 0; i < count; ++i) tokens.push_back((69'999 + i * 7'919) % vocabulary);
  return tokens;
}

TEST_F(WideTokens, OfAnotherWidthAreRefused) {
  const auto said = [&](const std::string& content, std::int64_t token_bits) {
    const std::string path = folder.write("a.bin", content);
    return refusal([&] { all_words({path}, token_bits); });
  };
  std::vector<std::uint32_t> small;
  for (std::uint32_t i = 0; i < 100; ++i) small.push_back(i % 50);
  std::vector<std::uint16_t> narrow;
  for (std::uint32_t i = 0; i < 100; ++i) narrow.push_back(static_cast<std::uint16_t>(i * 631));

  using Narrow = std::vector<std::uint16_t>;
  using Wide = std::vector<std::uint32_t>;
  EXPECT_THAT(said(bytes_of(small), 0),
              AllOf(HasSubstr("looks like 32-bit tokens"), HasSubstr("give --token-bits 32")));
  EXPECT_THAT(said(bytes_of(made_up(100)), 16), HasSubstr("looks like 32-bit tokens"));
  EXPECT_THAT(said(bytes_of(narrow), 32),
              AllOf(HasSubstr("holds no 32-bit tokens"), HasSubstr("leave --token-bits 32 out")));
  EXPECT_THAT(said(bytes_of(Narrow(5, 1)), 32),
              HasSubstr("has 10 bytes, no multiple of 4, and so does not hold 32-bit tokens"));
  EXPECT_THAT(said(headed({magic_of_32_bits, 7, 100}, small), 16),
              HasSubstr("says in its header that its tokens have 32 bits; leave --token-bits 16"));
  EXPECT_THAT(said(bytes_of(Wide{1, 4'294'967'295}), 32),
              HasSubstr("holds token 4294967295 at place 1 (the first is 0), beyond 2147483647"));
  EXPECT_THAT(said(bytes_of(Wide{1, 2'147'483'647}), 32),
              HasSubstr("this file needs one of at least 2147483648"));
  // Of several files the width is of those that say none.
  EXPECT_EQ(refusal([&] {
              all_words({folder.write("a.bin", bytes_of(small)),
                         folder.write("b.bin", headed({magic_of_16_bits, 1, 100}, narrow))},
                        32);
            }),
            "");
  EXPECT_EQ(said(bytes_of(narrow), 0), "");
  EXPECT_EQ(said(bytes_of(Narrow(100, 0)), 0), "");
  for (const char* name : {"a.txt", "a", "a.jsonl"}) {
    const std::string path = folder.write(name, "{\"prompt\": \"a\", \"completion\": \"b\"}\n");
    EXPECT_THAT(refusal([&] { all_words({path}, 32); }),
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
TEST_F(WideTokens, AreTheSameHoweverTheyAreWritten) {
  const std::vector<std::uint32_t> wide = made_up(40);
  std::vector<std::uint16_t> narrow;
  for (const std::uint32_t word : wide) narrow.push_back(static_cast<std::uint16_t>(word));
  const std::vector<std::uint64_t> widest(wide.begin(), wide.end());
  const std::vector<std::int32_t> words(wide.begin(), wide.end());
  const std::vector<std::int32_t> small(narrow.begin(), narrow.end());

  const auto read = [&](const char* name, const std::string& content, std::int64_t bits = 0) {
    return all_words({folder.write(name, content)}, bits);
  };
  const std::string with_header = headed({magic_of_32_bits, 7, 40}, wide);
  EXPECT_EQ(read("a.bin", bytes_of(narrow)), small);
  EXPECT_EQ(read("a.npy", npy_of("<u2", narrow)), small);
  EXPECT_EQ(read("a.bin", bytes_of(wide), 32), words);
  EXPECT_EQ(read("a.bin", bytes_of(widest), 64), words);
  EXPECT_EQ(read("a.bin", with_header), words);
  EXPECT_EQ(read("a.bin", with_header, 32), words);
  EXPECT_EQ(read("a.npy", npy_of("<i4", wide)), words);
  EXPECT_EQ(read("a.npy", npy_of("<u8", widest), 64), words);
  EXPECT_THAT(refusal([&] { all_words({folder.write("a.npy", npy_of("<f4", wide))}); }),
              HasSubstr("is a .npy of no whole numbers"));
  for (const auto& [kind, content] : {std::pair{'\x08', bytes_of(narrow)},
                                      {'\x04', bytes_of(wide)},
                                      {'\x05', bytes_of(widest)}}) {
    const std::string path = folder.write("m.bin", content);
    folder.write("m.idx", index_of(kind, 40));
    EXPECT_EQ(all_words({path}, 0), kind == '\x08' ? small : words);
    EXPECT_THAT(refusal([&] { all_words({path}, kind == '\x08' ? 32 : 16); }),
                HasSubstr("says in the .idx beside it that its tokens have"));
    for (const std::int32_t other : {39, 41}) {
      folder.write("m.idx", index_of(kind, other));
      EXPECT_THAT(refusal([&] { all_words({path}, 0); }),
                  HasSubstr(fmt::format("the .idx beside it speaks of {} tokens", other)));
    }
  }
  const std::string npy = npy_of("<i4", wide);
  for (const std::string& other : {npy + "x", npy.substr(0, npy.size() - 1)}) {
    EXPECT_THAT(refusal([&] { all_words({folder.write("a.npy", other)}, 0); }),
                HasSubstr("its head speaks of 40 tokens"));
  }
  EXPECT_THAT(refusal([&] { all_words({folder.write("a.bin", bytes_of(widest))}, 0); }),
              HasSubstr("give --token-bits 64"));
  EXPECT_THAT(refusal([&] { all_words({folder.write("a.bin", bytes_of(widest))}, 32); }),
              HasSubstr("holds no 32-bit tokens"));
}

// Whatever it is called: by name if it is packed, by its place if a byte is of no text.
TEST_F(Texts, AreTextOrRefusedByWhatTheyAre) {
  const std::string rest(600, 'a');
  const auto said = [&](const std::string& content, const char* name = "a.txt") {
    const std::string path = folder.write(name, content);
    return refusal([&] { all_words({path}, 0); });
  };
  for (const char* name : {"a.txt", "a.jsonl", "a"}) {
    EXPECT_THAT(said("BZh91AY&SY" + rest, name), HasSubstr("is packed by bzip2"));
  }
  EXPECT_THAT(said(std::string("a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0", 20)),
              HasSubstr("is text in UTF-16"));
  for (const std::size_t place : {0UL, 300UL, 599UL}) {
    std::string text = rest;
    text[place] = '\0';
    EXPECT_THAT(said(text), HasSubstr(fmt::format("a zero byte at place {} ", place)));
  }
  EXPECT_EQ(said(rest), "");
}

// Whatever the file is called, and however its first line begins and however long it is.
TEST_F(Texts, OfADocumentFirstAreDocuments) {
  const std::string wide(200'000, 'x'), one = R"({"text": "one"})";
  for (const std::string& first : {one, "\xef\xbb\xbf" + one, R"({"text": ")" + wide + R"("})"}) {
    for (const std::string rest : {"", "\n", "\n{\"text\": \"two\"}\n"}) {
      const auto words = all_words({folder.write("a.jsonl", first + rest)});
      EXPECT_EQ(all_words({folder.write("a.json", first + rest)}), words);
      EXPECT_EQ(words.front(), first.find(wide) == std::string::npos ? 'o' : 'x');
    }
  }
  const std::string prose = R"({"text" )" + wide;
  EXPECT_EQ(TokenFile(folder.write("a.txt", prose)).words(), std::ssize(prose));
}

// All that is said stands there once, of which what the assistant says is learnt; what a line holds
// beside its text is not looked at.
TEST_F(Texts, OfLinesAreDocuments) {
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

}  // namespace
}  // namespace fourfold::tests
