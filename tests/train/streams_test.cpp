// Words over the borders of files, documents and sequences, and what each file that cannot be read
// hears: compared with what a reader of the whole text finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/train/data/documents.hpp"
#include "engine/words.hpp"
#include "support/random.hpp"
#include "tests/train/token_files.hpp"

namespace fourfold::tests {
namespace {

class Streams : public OneRank {
 protected:
  SharedFolder folder_;
};

Model model_of(std::int64_t sequence, std::int64_t vocabulary = 256) {
  return {"words", 1, 8, 2, sequence, vocabulary};
}

std::string document(const std::string& prompt, const std::string& completion) {
  return R"({"prompt": ")" + prompt + R"(", "completion": ")" + completion + "\"}\n";
}

// The part of a text that a stretch takes.
std::string part_of(const std::string& text, const ShareOfFile& stretch) {
  const auto whole = static_cast<double>(text.size());
  const auto from = static_cast<std::size_t>(whole * stretch.from);
  return text.substr(from, static_cast<std::size_t>(whole * stretch.to) - from);
}

// Files of 1 to 11 bytes, whose stretch may be empty.
TEST_F(Streams, ReadWhatStandsInTheirStretchOfEachFile) {
  std::vector<std::string> paths;
  std::vector<std::string> texts;
  for (int i = 0; i < 11; ++i) {
    texts.emplace_back("abcdefghijkl", static_cast<std::size_t>(1 + i * 7 % 11));
    std::ranges::transform(texts.back(), texts.back().begin(),
                           [i](char c) { return static_cast<char>(c + i); });
    paths.push_back(folder_.write("text" + std::to_string(i), texts.back()));
  }
  for (const ShareOfFile& stretch : {ShareOfFile{0.0, 1.0}, {0.0, 0.9}, {0.9, 1.0}, {0.25, 0.5}}) {
    std::string whole;
    for (const std::string& text : texts) whole += part_of(text, stretch);
    const WordStream words(paths, stretch);

    ASSERT_EQ(words.words(), std::ssize(whole));
    for (std::size_t first = 0; first < whole.size(); ++first) {
      for (std::size_t count = 1; first + count <= whole.size(); ++count) {
        std::vector<std::int32_t> read{7};
        words.read(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count), 256, read);
        ASSERT_EQ(read.front(), 7);
        ASSERT_EQ(std::string(read.begin() + 1, read.end()), whole.substr(first, count)) << first;
      }
    }
    std::vector<std::int32_t> none;
    EXPECT_THROW(words.read(0, words.words() + 1, 256, none), std::logic_error);
    EXPECT_THROW(words.read(-1, 1, 256, none), std::logic_error);
  }
}

// The second file alone has prompts, and a stretch begins within one.
TEST_F(Streams, LeaveOutThePromptsOfEachFileAtTheirPlaces) {
  const std::string plain = folder_.write("plain.txt", "no prompt here at all");
  const std::string first =
      folder_.write("one.jsonl", document("", "only") + document("ask", "no") +
                                     document("aa", "b") + document("", "c"));
  const std::string second = folder_.write("two.jsonl", document("four", "d") + document("x", "y"));
  const std::string text = "no prompt here at all" + std::string("only\0askno\0aab\0c\0", 17) +
                           std::string("fourd\0xy\0", 9);
  const std::string mask = std::string(21, '.') + ".....---...--...." + "----..-..";
  ASSERT_EQ(text.size(), mask.size());
  const WordStream words({plain, first, second}, {0.0, 1.0});

  ASSERT_EQ(words.words(), std::ssize(text));
  EXPECT_TRUE(words.has_prompts());
  EXPECT_FALSE(WordStream({plain}, {0.0, 1.0}).has_prompts());
  for (std::size_t from = 0; from < text.size(); ++from) {
    std::vector<std::int32_t> read;
    words.read(static_cast<std::int64_t>(from), std::ssize(text.substr(from)), 256, read);
    words.leave_out_prompts(static_cast<std::int64_t>(from), read);
    for (std::size_t i = from; i < text.size(); ++i) {
      const std::int32_t expected =
          mask[i] == '-' ? ignored_target : static_cast<std::uint8_t>(text[i]);
      ASSERT_EQ(read.at(i - from), expected) << from << " " << i;
    }
  }
  const WordStream half({second}, {0.25, 1.0});  // from its third byte on
  std::vector<std::int32_t> read(static_cast<std::size_t>(half.words()), 1);
  half.leave_out_prompts(0, read);
  EXPECT_EQ(read, (std::vector<std::int32_t>{ignored_target, ignored_target, 1, 1, ignored_target,
                                             1, 1}));
}

// What Goldfish loss leaves out of the text as a whole, whatever sequence a target is in.
TEST_F(Streams, LeaveOutByTheWordsBeforeATargetInAnySequence) {
  std::string text;
  for (std::uint64_t i = 0; i < 600; ++i) text += static_cast<char>('a' + scattered(i) % 5);
  DataOptions options;
  options.files = {folder_.write("a.txt", text)};
  options.validation_files = options.files;
  options.order = DataOrder::sequential;
  for (const std::int64_t h : {1, 3, 16, 17, 40}) {
    options.goldfish = {3, h};
    const Data data(options, model_of(16));
    const std::int64_t count = data.training_sequences();
    const LocalBatch batch = data.training(0, on_one_rank(count)),
                     held_out = data.held_out().batch(0, on_one_rank(4));
    EXPECT_EQ(std::ranges::count(held_out.targets, ignored_target), 0);
    const auto left_out = static_cast<double>(std::ranges::count(batch.targets, ignored_target));
    EXPECT_NEAR(left_out, static_cast<double>(count * 16) / 3.0, h > 3 ? 60.0 : 200.0);
    for (std::size_t i = 0; i < batch.targets.size(); ++i) {
      const std::size_t place = i + 1;  // of the target in the text
      const auto known = std::min<std::size_t>(place, static_cast<std::size_t>(h));
      const std::vector<std::int32_t> before(
          text.begin() + static_cast<std::ptrdiff_t>(place - known),
          text.begin() + static_cast<std::ptrdiff_t>(place));
      const std::int32_t expected = options.goldfish.leaves_out(before)
                                        ? ignored_target
                                        : static_cast<std::int32_t>(text[place]);
      ASSERT_EQ(batch.targets[i], expected) << h << " words before " << place;
    }
  }
}

// Sentences that a run hears before it trains.
class Refusals : public Streams {
 protected:
  std::string said(const std::vector<std::string>& files, std::int64_t sequence = 4,
                   std::int64_t vocabulary = 50'257) const {
    DataOptions options;
    options.files = files;
    options.validation_files = files;
    return refusal([&] {
      const Data data(options, model_of(sequence, vocabulary));
      data.training_words().expect_within(vocabulary, words_looked_at);
    });
  }
  // Of a file with such a name and content, behind its path.
  std::string said_of(const std::string& name, const std::string& content) const {
    const std::string path = folder_.write(name, content);
    const std::string sentence = said({path});
    return sentence.starts_with(path) ? sentence.substr(path.size() + 1) : sentence;
  }
};

TEST_F(Refusals, NameWhatIsWrongWithAShard) {
  const std::vector<std::uint16_t> five{1, 2, 3, 4, 5};
  const std::string no_tokens =
      ", no multiple of 2, and so does not hold 16-bit tokens; name it .txt if it is text";

  const std::vector<std::uint16_t> none;
  for (const auto& [content, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"", "is empty; there is nothing to read"},
           {"12345678901", "has 11 bytes" + no_tokens},
           {"a", "has 1 bytes" + no_tokens},
           {headed({20'240'520, 1, 5}, five), ""},
           {headed({20'240'520, 1, 4}, five), "has 1034 bytes, but its header speaks of 4 tokens"},
           {headed({20'240'520, 1, 0}, none), "has 1024 bytes, but its header speaks of 0 tokens"},
           {headed({20'240'520, 1, 6}, five),
            "is truncated: it has 1034 bytes, its header speaks of 1036"},
           {headed({20'240'520, 1, -9}, none, 500),
            "is truncated: it has 500 bytes, its header speaks of 1024"},
           {headed({20'240'520}, none, 4),
            "is truncated: it has 4 bytes, its header speaks of 1024"},
           {headed({20'240'520, 3, 5}, five),
            "is a shard of 16-bit tokens of version 3; only version 1 is known"},
           {headed({20'240'801, 1, 5}, five),
            "is a shard of 32-bit tokens of version 1; only version 7 is known"},
           {headed({20'240'801, 7, 5}, five),
            "is truncated: it has 1034 bytes, its header speaks of 1044"}}) {
    EXPECT_EQ(said_of("a.bin", content), sentence);
  }
  for (const char* magic : {"20240000", "20240326", "20241231"}) {
    EXPECT_EQ(said_of("a.bin", headed({std::stoi(magic), 1, 5}, five)),
              std::string("has llm.c's magic ") + magic +
                  ", which is neither 20240520, that of 16-bit tokens, nor 20240801, that of "
                  "32-bit ones");
  }
  for (const std::int32_t no_magic : {20'239'999, 20'241'232}) {  // tokens of nanoGPT
    EXPECT_EQ(TokenFile(folder_.write("a.bin", headed({no_magic, 1, 5}, five))).words(), 517);
  }
}

TEST_F(Refusals, NameTheWordThatNoModelOfThisVocabularyHas) {
  // The largest is neither the first that is refused nor in the last stretch that is read.
  std::vector<std::uint16_t> tokens(1'200'000, 1);
  tokens[10] = 300;
  tokens[600'000] = 700;
  tokens.back() = 400;
  const std::string one =
      folder_.write("one.bin", bytes_of(std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6, 7}));
  const std::string two = folder_.write("two.bin", bytes_of(tokens));

  EXPECT_EQ(said({one, two}, 4, 256),
            two +
                " holds token 300 at place 10 (the first is 0), outside the model's vocabulary "
                "of 256 words; this file needs one of at least 701");
  std::vector<std::int32_t> read;
  const WordStream words({one, two}, {0.5, 1.0});
  EXPECT_EQ(refusal([&] { words.read(4, 599'999, 256, read); }),
            two +
                " holds token 700 at place 600000 (the first is 0), outside the model's "
                "vocabulary of 256 words; this file needs one of at least 701");
}

TEST_F(Refusals, NameWhatIsNoFile) {
  EXPECT_EQ(said({folder_.file("none.txt")}),
            folder_.file("none.txt") + " cannot be read: No such file or directory");
  EXPECT_EQ(said({folder_.file("*.bin")}), "no file matches " + folder_.file("*.bin"));
  EXPECT_NE(said({folder_.path()}).find("is no file"), std::string::npos);
}

TEST_F(Refusals, SayHowManyWordsASequenceNeeds) {
  const std::string one = folder_.write("one.txt", "12345");
  const std::string two = folder_.write("two.txt", "678");
  const std::string three = folder_.write("three.txt", "9");

  EXPECT_EQ(said({one}), "");
  EXPECT_EQ(said({one}, 5), one +
                                " is too short: the part to train on has 5 words, and a sequence "
                                "of 5 with its last target needs 6");
  EXPECT_EQ(said({one, two, three}, 9),
            one +
                " and 2 more are too short: the part to train on has 9 words, and a sequence of "
                "9 with its last target needs 10");
  EXPECT_EQ(said({one, two, three}, 8), "");
}

TEST_F(Refusals, SayThatNoTargetCounts) {
  const std::string prompts = folder_.write("a.jsonl", document(std::string(40, 'q'), "x"));
  const std::string late =
      folder_.write("b.jsonl", document(std::string(15, 'q'), "late") + document("q", "x"));
  // The last byte alone counts: it is a target, and no first word.
  const std::string last = folder_.write("c.jsonl", document("qqqqqqq", "x"));

  EXPECT_EQ(said({prompts}, 13), prompts +
                                     ": no target counts in the 39 words of the part to train on: "
                                     "they are of prompts alone; give it more text, or shorter "
                                     "prompts");
  EXPECT_EQ(said({prompts}, 10), "");
  EXPECT_EQ(said({late}, 5), "");
  EXPECT_EQ(said({last}, 8), "");
  EXPECT_NE(said({last}, 6), "");
}

TEST_F(Refusals, NameTheLineThatIsNoDocument) {
  const std::string good = document("a", "b");
  const std::string form =
      R"({"prompt": "...", "completion": "..."}, {"text": "..."} or {"messages": [...]})";
  for (const auto& [text, sentence] : std::vector<std::pair<std::string, std::string>>{
           {good + "\n \t\r\n[1]\n" + good, "has a line 4 that is not " + form},
           {good + "nothing", "has a line 2 that is not " + form},
           {good + good + R"({"completion": "b", "label": 1})",
            "has 'label' in line 3; a document is " + form},
           {good + "\r\n" + R"({"prompt": 1, "completion": "b"})",
            "has a prompt in line 3 that is no text"},
           {R"({"completion": 7})", "has a completion in line 1 that is no text"},
           {R"({"prompt": "a"})", "has no completion in line 1"},
           {good + R"({"prompt": "a", "completion": ""})", "has no completion in line 2"},
           {R"({"text": "a", "prompt": "b", "completion": "c"})",
            "has both 'text' and 'prompt' in line 1; a document is " + form},
           {good + R"({"text": "a", "messages": []})",
            "has both 'messages' and 'text' in line 2; a document is " + form},
           {good + R"({"text": "ab", "prompt": null, "messages": 2})", ""},
           {"\r\n \n", "holds no document"},
           {good + "\r\n" + good + "\r\n", ""}}) {
    EXPECT_EQ(said_of("a.jsonl", text), sentence);
  }
}

// A file is what its name says, even where that could be a pattern.
TEST_F(Streams, OfAFileWhosePatternIsItsNameAreOfThatFile) {
  const std::string named = folder_.write("part[1].txt", "of this name itself");
  folder_.write("part1.txt", "of the pattern");
  DataOptions options;
  options.files = {named, folder_.file("part?.txt")};
  options.validation_files = {folder_.write("b.txt", "to validate on")};

  const Data data(options, model_of(4));

  ASSERT_EQ(data.training_words().files().size(), 2U);
  EXPECT_EQ(data.training_words().files()[0].path(), named);
  EXPECT_EQ(data.training_words().files()[1].path(), folder_.file("part1.txt"));
  options.files = {folder_.file("part?.bin")};
  EXPECT_EQ(refusal([&] { Data(options, model_of(4)); }),
            "no file matches " + folder_.file("part?.bin"));
  folder_.write("part\xff.txt", "of a name that no log can hold");
  EXPECT_EQ(refusal([&] { files_matching({folder_.file("part*.txt")}); }),
            "the file " + folder_.file("part\\xff.txt") +
                " has a name that is no text in UTF-8; rename it");
}

// Longer than a piece that is counted at once; of bytes that change where pieces meet.
TEST_F(Streams, HaveTheEntropyOfAllTheirPieces) {
  const std::string text =
      std::string(65'536, 'a') + std::string(65'536, 'b') + std::string(2 * 65'536, 'c');
  const WordStream words({folder_.write("a.txt", text), folder_.write("b.txt", "d")}, {0.0, 1.0});

  EXPECT_NEAR(unigram_entropy(words, 256), 1.5 * std::log(2.0), 1e-3);
}

TEST_F(Streams, GoldfishAsksForAHashOfSomeWords) {
  DataOptions options;
  options.files = {folder_.write("a.txt", std::string(100, 'a'))};
  const auto said = [&](std::int64_t k, std::int64_t h) {
    options.goldfish = {k, h};
    return refusal([&] { Data(options, model_of(4)); });
  };
  const std::string sentence =
      "Goldfish loss leaves one target of k out, by the h words before it: k must be 0 (none) or "
      "at least 2 and h at least 1, not ";

  EXPECT_EQ(said(0, 1), "");
  EXPECT_EQ(said(2, 1), "");
  for (const auto& [k, h] : {std::pair{1, 13}, {-2, 13}, {4, 0}}) {
    EXPECT_EQ(said(k, h), sentence + std::to_string(k) + " and " + std::to_string(h));
  }
  for (const double share : {0.0, 1.0, -0.5, std::nan("")}) {
    options.goldfish = {};
    options.held_out = share;
    EXPECT_NE(refusal([&] { Data(options, model_of(4)); }), "") << share;
  }
}

}  // namespace
}  // namespace fourfold::tests
