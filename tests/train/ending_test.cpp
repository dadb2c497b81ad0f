// Where drawn texts end: over many drawn texts of few words, at the first word that ends them, and
// what is shown while they grow is never taken back.
#include "engine/train/sample/ending.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using Words = std::vector<std::int32_t>;

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

TEST(Ending, IsNotInThePrompt) {
  const Endings endings{{9}, {{1, 2}}};

  EXPECT_FALSE(has_ended({9, 1, 2}, 3, endings));
  EXPECT_FALSE(has_ended({9, 1, 2}, 2, endings));
  EXPECT_TRUE(has_ended({9, 1, 2}, 1, endings));
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
