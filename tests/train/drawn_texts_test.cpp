// Texts that are drawn: words from logits, at a temperature, among the k likeliest and in the
// nucleus (top-p); where texts end; what is shown of them while they grow, which is never taken
// back. The draw is held over many logits against its definition, written out slowly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/train/sample/ending.hpp"
#include "engine/train/sample/pick.hpp"
#include "engine/train/sample/prompt.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

struct Question {
  std::vector<float> logits;
  Drawing drawing;
};

// Some with equal logits, some with words that are out of reach.
Question drawn_question(std::mt19937_64& random) {
  Question question;
  const std::size_t words = 1 + random() % 40;
  const double width = random() % 4 == 0 ? 0.0 : 8.0;
  for (std::size_t i = 0; i < words; ++i) {
    const double logit = width * (next_number(random) - 0.5);
    question.logits.push_back(static_cast<float>(random() % 3 == 0 ? std::round(logit) : logit));
    if (i > 0 && random() % 20 == 0) {
      question.logits.back() = -std::numeric_limits<float>::infinity();
    }
  }
  question.drawing = {.temperature = 0.25 + 2.0 * next_number(random),
                      .top_k = static_cast<std::int64_t>(random() % (words + 3)),
                      .top_p = 0.02 + 0.97 * next_number(random)};
  return question;
}

std::vector<double> likelihoods(const Question& question) {
  std::vector<double> weights;
  const double most = *std::ranges::max_element(question.logits);
  for (const float logit : question.logits) {
    weights.push_back(std::exp((logit - most) / question.drawing.temperature));
  }
  return weights;
}

// The definition: words by likelihood, the first of equals first; the first k of them; of these the
// first whose weights reach the share.
std::set<std::int32_t> nucleus_of(const Question& question) {
  const std::vector<double> weights = likelihoods(question);
  std::vector<std::int32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
    return question.logits[static_cast<std::size_t>(a)] >
           question.logits[static_cast<std::size_t>(b)];
  });
  const auto k = static_cast<std::size_t>(question.drawing.top_k);
  if (k > 0 && k < order.size()) order.resize(k);
  const auto weight = [&](std::int32_t word) { return weights[static_cast<std::size_t>(word)]; };
  double all = 0.0;
  for (const std::int32_t word : order) all += weight(word);
  std::set<std::int32_t> kept;
  double sum = 0.0;
  for (const std::int32_t word : order) {
    if (!kept.empty() && sum >= question.drawing.top_p * all) break;
    kept.insert(word);
    sum += weight(word);
  }
  return kept;
}

TEST(Nucleus, IsTheSmallestSetWhoseShareReachesP) {
  std::mt19937_64 random(32);
  constexpr int numbers = 997;
  for (int n = 0; n < 600; ++n) {
    const Question question = drawn_question(random);
    const std::set<std::int32_t> expected = nucleus_of(question);
    const std::vector<double> weights = likelihoods(question);
    double all = 0.0;
    for (const std::int32_t word : expected) all += weights[static_cast<std::size_t>(word)];

    std::vector<int> drawn(question.logits.size(), 0);
    for (int i = 0; i < numbers; ++i) {
      ++drawn[static_cast<std::size_t>(
          pick(question.logits, question.drawing, (i + 0.5) / numbers))];
    }

    for (std::size_t word = 0; word < drawn.size(); ++word) {
      const bool inside = expected.contains(static_cast<std::int32_t>(word));
      const double share = inside ? weights[word] / all : 0.0;
      // As often as it is likely, to the two numbers at its borders.
      EXPECT_NEAR(drawn[word], share * numbers, inside ? 1.01 : 0.0)
          << "word " << word << " of question " << n;
    }
  }
}

// Bit by bit: neither the sums nor the words move.
TEST(Nucleus, OfAllIsNoChange) {
  std::mt19937_64 random(7);
  for (int n = 0; n < 2000; ++n) {
    Question question = drawn_question(random);
    question.drawing.top_k = 0;
    question.drawing.top_p = 1.0;
    const double number = next_number(random);
    const std::vector<double> weights = likelihoods(question);
    std::vector<double> sums;
    double sum = 0.0;
    for (const float logit : question.logits) {
      const double most = *std::ranges::max_element(question.logits);
      sums.push_back(sum += std::exp((logit - most) / question.drawing.temperature));
    }
    const auto expected = std::ranges::upper_bound(sums, number * sum) - sums.begin();

    EXPECT_EQ(pick(question.logits, question.drawing, number), expected) << n;
  }
}

TEST(Nucleus, HasNoWordWhoseLogitIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const double top_p : {0.5, 1.0}) {
    for (const double number : {0.0, 0.5, 0.99}) {
      EXPECT_EQ(pick(std::vector{nan, 1.0F, nan}, {.top_p = top_p}, number), 1);
    }
    EXPECT_EQ(pick(std::vector{nan, nan}, {.top_p = top_p}, 0.5), 0);
  }
}

TEST(Pick, TakesTheFirstOfTheLikeliestAtTemperatureZero) {
  for (const std::int64_t top_k : {0, 1, 3}) {
    EXPECT_EQ(pick(std::vector<float>{1.0F, 3.0F, 3.0F, -2.0F},
                   {.temperature = 0.0, .top_k = top_k}, 0.99),
              1);
  }
}

TEST(Pick, NumbersAreTheSameOnEveryMachine) {
  std::mt19937_64 random(5489);
  // The engine's first number is 14514284786278117030 (its definition, with the default seed).
  EXPECT_DOUBLE_EQ(next_number(random), 14514284786278117030.0 / 18446744073709551616.0);
}

using Words = std::vector<std::int32_t>;

TEST(Prompt, IsBytesForTextAndNumbersForShards) {
  EXPECT_EQ(words_of_prompt("Hi\n", TokenFormat::text, 256), (Words{72, 105, 10}));
  EXPECT_EQ(words_of_prompt(" 464 2068", TokenFormat::llmc, 50257), (Words{464, 2068}));
  EXPECT_EQ(words_of_prompt("", TokenFormat::text, 256), (Words{10}));
  EXPECT_EQ(words_of_prompt("", TokenFormat::nanogpt, 256), (Words{0}));
}

TEST(Prompt, OutsideTheVocabularyIsRefused) {
  EXPECT_THROW(words_of_prompt("\xC3\xA9", TokenFormat::text, 128), std::runtime_error);
  for (const char* prompt : {"50257", "-1", "Once upon"}) {
    EXPECT_THROW(words_of_prompt(prompt, TokenFormat::llmc, 50257), std::runtime_error) << prompt;
  }
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

// An untrained model says any byte: a letter begun and broken by another letter's first byte, too.
TEST(Readable, OfATextThatGrowsNeverTakesBackWhatItSaid) {
  std::mt19937_64 random(5);
  const Words bytes{0x41, 0x80, 0xBF, 0xC3, 0xE2, 0xF0, 0xFF, 0x1C3};
  for (int text = 0; text < 2000; ++text) {
    Words words;
    std::string said;
    for (int n = 0; n < 12; ++n) {
      words.push_back(bytes[random() % bytes.size()]);
      const std::string now = readable_so_far(words, TokenFormat::text);
      ASSERT_TRUE(now.starts_with(said)) << "text " << text << ", word " << n;
      said = now;
    }
    ASSERT_TRUE(readable(words, TokenFormat::text).starts_with(said));
  }
  // Nothing waits but a letter that has begun: here a lone start of four bytes.
  EXPECT_EQ(readable_so_far({65, 0xE2, 0x82, 0xAC, 0xC3, 66, 0xF0, 0x9F}, TokenFormat::text),
            "A\xE2\x82\xAC\xEF\xBF\xBD"
            "B");
  EXPECT_EQ(readable_so_far({464, 2068}, TokenFormat::llmc), "464 2068");
}

Words drawn_words(std::mt19937_64& random, std::size_t count) {
  Words words;
  for (std::size_t i = 0; i < count; ++i) words.push_back(static_cast<std::int32_t>(random() % 3));
  return words;
}

Endings drawn_endings(std::mt19937_64& random) {
  Endings endings;
  if (random() % 3 == 0) endings.end_words = {static_cast<std::int32_t>(random() % 4)};
  for (std::uint64_t stops = random() % 3; stops > 0; --stops) {
    endings.stops.push_back(drawn_words(random, 1 + random() % 4));
  }
  return endings;
}

bool ends_with(const Words& text, std::size_t prompt, const Words& end) {
  return text.size() >= prompt + end.size() && std::equal(end.rbegin(), end.rend(), text.rbegin());
}

TEST(Ending, IsTheFirstAndWhatIsShownIsNeverTakenBack) {
  std::mt19937_64 random(3);
  int ended = 0;
  for (int n = 0; n < 3000; ++n) {
    const Endings endings = drawn_endings(random);
    const std::size_t prompt = random() % 4;
    Words text = drawn_words(random, prompt), shown = text;
    for (int i = 0; i < 20 && !has_ended(text, prompt, endings); ++i) {
      text.push_back(static_cast<std::int32_t>(random() % 3));
      Words sure = text;
      sure.resize(sure_words(text, prompt, endings));
      ASSERT_GE(sure.size(), shown.size());
      ASSERT_TRUE(std::equal(shown.begin(), shown.end(), sure.begin()));
      shown = sure;
    }
    const Ending ending = ending_of(text, prompt, endings);

    // What is longer behind the end changes nothing.
    Words longer = text;
    if (ending.by != EndedBy::length) longer.insert(longer.end(), {0, 1, 2, 0});
    EXPECT_EQ(ending_of(longer, prompt, endings).words, ending.words);
    EXPECT_EQ(ending_of(longer, prompt, endings).by, ending.by);
    ASSERT_GE(ending.words, shown.size());
    const Words end(text.begin() + static_cast<std::ptrdiff_t>(ending.words), text.end());
    if (ending.by == EndedBy::length) {
      EXPECT_TRUE(end.empty());
      for (const Words& stop : endings.stops) EXPECT_FALSE(ends_with(text, prompt, stop));
    } else {
      ++ended;
      const bool is_word = end.size() == 1 && std::ranges::count(endings.end_words, end[0]) > 0;
      EXPECT_TRUE(is_word || std::ranges::count(endings.stops, end) > 0);
    }
  }
  EXPECT_GT(ended, 1000);
}

TEST(Ending, IsTheModelsWordUnlessToldOtherwise) {
  const auto said = [](const std::string& flag) {
    return refusal<std::runtime_error>([&] { end_words_asked(flag, {7, 8}, 50); });
  };

  EXPECT_EQ(end_words_asked("model", {7, 8}, 50), (Words{7, 8}));
  EXPECT_EQ(end_words_asked("none", {7, 8}, 50), Words{});
  EXPECT_EQ(end_words_asked("49", {7, 8}, 50), Words{49});
  for (const char* wrong : {"50", "-1", "word", "7 8", "1e1", "99999999999999999999"}) {
    EXPECT_EQ(said(wrong), "--end-word: '" + std::string(wrong) +
                               "' is neither model nor none nor a word from 0 to 49");
  }
}

}  // namespace
}  // namespace fourfold::tests
