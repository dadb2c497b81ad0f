// Prompts, printable text, and drawing words from logits.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/train/sample/pick.hpp"
#include "engine/train/sample/prompt.hpp"

namespace fourfold::tests {
namespace {

using Words = std::vector<std::int32_t>;

TEST(Prompt, IsBytesForTextAndNumbersForShards) {
  EXPECT_EQ(words_of_prompt("Hi\n", TokenFormat::text, 256), (Words{72, 105, 10}));
  EXPECT_EQ(words_of_prompt(" 464 2068", TokenFormat::llmc, 50257), (Words{464, 2068}));
  EXPECT_EQ(words_of_prompt("", TokenFormat::text, 256), (Words{10}));
  EXPECT_EQ(words_of_prompt("", TokenFormat::nanogpt, 256), (Words{0}));
}

TEST(Prompt, OutsideTheVocabularyIsRefused) {
  EXPECT_THROW(words_of_prompt("\xC3\xA9", TokenFormat::text, 128), std::runtime_error);
  EXPECT_THROW(words_of_prompt("50257", TokenFormat::llmc, 50257), std::runtime_error);
  EXPECT_THROW(words_of_prompt("-1", TokenFormat::llmc, 50257), std::runtime_error);
  EXPECT_THROW(words_of_prompt("Once upon", TokenFormat::llmc, 50257), std::runtime_error);
}

TEST(Readable, KeepsLettersAndReplacesWhatNoTerminalShows) {
  EXPECT_EQ(readable({72, 0xC3, 0xA9, 10}, TokenFormat::text), "H\xC3\xA9\n");
  EXPECT_EQ(readable({72, 0xC3, 72, 27}, TokenFormat::text), "H\xEF\xBF\xBDH\xEF\xBF\xBD");
  // An overlong form, half of a surrogate pair, and what lies beyond U+10FFFF.
  for (const Words& word : {Words{0xE0, 0x80, 0x80}, Words{0xED, 0xA0, 0x80},
                            Words{0xF4, 0x90, 0x80, 0x80}, Words{0xF0, 0x8F, 0xBF, 0xBF}}) {
    std::string replaced;
    for (std::size_t i = 0; i < word.size(); ++i) replaced += "\xEF\xBF\xBD";
    EXPECT_EQ(readable(word, TokenFormat::text), replaced) << word.front();
  }
  EXPECT_EQ(readable({464, 2068}, TokenFormat::llmc), "464 2068");
}

// A vocabulary may be padded beyond the bytes: no word of it looks like another one.
TEST(Readable, OfEveryWordIsItsOwn) {
  EXPECT_EQ(readable({72, 0x148, 0xC3, 300, 0xA9}, TokenFormat::text),
            "H<328>\xEF\xBF\xBD<300>\xEF\xBF\xBD");
  const std::string unseen = "\xEF\xBF\xBD";
  std::set<std::string> texts;
  for (std::int32_t word = 0; word < 1024; ++word) {
    const std::string text = readable({word}, TokenFormat::text);
    EXPECT_TRUE(texts.insert(text).second || text == unseen) << word;
    EXPECT_EQ(text.starts_with('<') && text.size() > 1, word > 255) << word;
  }
}

TEST(Readable, OfATextThatGrowsNeverChangesWhatWasSaid) {
  // A, a letter of three bytes, a lone start of two, B, a lone start of four at the end.
  const Words words{65, 0xE2, 0x82, 0xAC, 0xC3, 66, 0xF0, 0x9F};
  std::string said;

  for (std::size_t n = 0; n <= words.size(); ++n) {
    const Words so_far(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n));
    const std::string text = readable_so_far(so_far, TokenFormat::text);
    ASSERT_TRUE(text.starts_with(said)) << n;
    said = text;
  }

  EXPECT_EQ(said,
            "A\xE2\x82\xAC\xEF\xBF\xBD"
            "B");
  EXPECT_TRUE(readable(words, TokenFormat::text).starts_with(said));
  EXPECT_EQ(readable_so_far({464, 2068}, TokenFormat::llmc), "464 2068");
}

// An untrained model says any byte: a letter begun and broken by another letter's first byte, too.
TEST(Prompt, TextThatGrowsNeverTakesBackWhatItSaid) {
  std::mt19937 random(5);
  const std::vector<std::int32_t> bytes{0x41, 0x80, 0xBF, 0xC3, 0xE2, 0xF0, 0xFF, 0x1C3};
  for (int text = 0; text < 2000; ++text) {
    std::vector<std::int32_t> words;
    std::string said;
    for (int n = 0; n < 12; ++n) {
      words.push_back(bytes[random() % bytes.size()]);
      const std::string now = readable_so_far(words, TokenFormat::text);
      ASSERT_TRUE(now.starts_with(said)) << "text " << text << ", word " << n;
      said = now;
    }
    ASSERT_TRUE(readable(words, TokenFormat::text).starts_with(said));
  }
}

TEST(Pick, TakesTheFirstOfTheLikeliestAtTemperatureZero) {
  EXPECT_EQ(pick(std::vector<float>{1.0F, 3.0F, 3.0F, -2.0F}, {.temperature = 0.0}, 0.99), 1);
}

TEST(Pick, FollowsTheSoftmax) {
  const float two = std::log(2.0F);
  const std::vector<float> logits{0.0F, two, 0.0F};  // 1/4, 1/2, 1/4

  EXPECT_EQ(pick(logits, {.temperature = 1.0}, 0.2499), 0);
  EXPECT_EQ(pick(logits, {.temperature = 1.0}, 0.2501), 1);
  EXPECT_EQ(pick(logits, {.temperature = 1.0}, 0.7499), 1);
  EXPECT_EQ(pick(logits, {.temperature = 1.0}, 0.7501), 2);
}

TEST(Pick, SharpensAsTemperatureFalls) {
  const float two = std::log(2.0F);
  const std::vector<float> logits{0.0F, two};  // at 1/2: 1/5, 4/5

  EXPECT_EQ(pick(logits, {.temperature = 0.5}, 0.199), 0);
  EXPECT_EQ(pick(logits, {.temperature = 0.5}, 0.201), 1);
}

TEST(Pick, DrawsAmongTheKLikeliestAtItsTemperature) {
  const float two = std::log(2.0F);
  const std::vector<float> logits{0.0F, two, -50.0F};  // at 1/2: 1/5, 4/5

  EXPECT_EQ(pick(logits, {.temperature = 0.5, .top_k = 2}, 0.199), 0);
  EXPECT_EQ(pick(logits, {.temperature = 0.5, .top_k = 2}, 0.201), 1);
  EXPECT_EQ(pick(logits, {.temperature = 0.0, .top_k = 2}, 0.1), 1);
}

TEST(Pick, DrawsAmongTheKLikeliestOnly) {
  const std::vector<float> logits{1.0F, 3.0F, 2.0F, 3.0F, -1.0F};

  for (double number : {0.0, 0.3, 0.6, 0.999}) {
    EXPECT_EQ(pick(logits, {.temperature = 1.0, .top_k = 1}, number), 1);
    EXPECT_EQ(pick(logits, {.temperature = 1.0, .top_k = 2}, number), number < 0.5 ? 1 : 3);
    const std::int32_t of_three = pick(logits, {.temperature = 1.0, .top_k = 3}, number);
    EXPECT_TRUE(of_three == 1 || of_three == 2 || of_three == 3);
    for (std::int64_t all : {0, 5, 100}) {
      EXPECT_EQ(pick(logits, {.temperature = 1.0, .top_k = all}, number),
                pick(logits, {.temperature = 1.0}, number));
    }
  }
}

TEST(Pick, NeverTakesAWordThatCannotBe) {
  const std::vector<float> logits{-INFINITY, 0.0F, -INFINITY};
  for (double number : {0.0, 0.5, 0.999999999})
    EXPECT_EQ(pick(logits, {.temperature = 1.0}, number), 1);
}

TEST(Pick, NumbersAreTheSameOnEveryMachine) {
  std::mt19937_64 random(5489);
  // The engine's first number is 14514284786278117030 (its definition, with the default seed).
  EXPECT_DOUBLE_EQ(next_number(random), 14514284786278117030.0 / 18446744073709551616.0);
}

}  // namespace
}  // namespace fourfold::tests
