// Lines of prose broken by brute force, plurals, clocks and names that are nearly right.
#include "support/prose.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "support/clock_text.hpp"
#include "support/nearest_name.hpp"
#include "support/random.hpp"

namespace fourfold::tests {
namespace {

// Words of 1 to 9 letters; some lines end in the middle.
std::string drawn_text(std::uint64_t number) {
  std::string text;
  for (std::uint64_t word = 0; word < 1 + random_at(1, number, 0) % 25; ++word) {
    if (word > 0) text += random_at(2, number, word) % 9 == 0 ? '\n' : ' ';
    text += std::string(1 + random_at(3, number, word) % 9, static_cast<char>('a' + word % 26));
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Word after word, to the next line where one does not fit; later lines begin `indent` blanks in.
std::vector<std::string> broken(const std::string& text, std::size_t indent, std::size_t width) {
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(text)) {
    std::istringstream words(line);
    std::string open;
    bool fresh = true;
    for (std::string word; words >> word;) {
      if (!fresh && open.size() + 1 + word.size() > width) {
        lines.push_back(open);
        open = std::string(indent, ' ') + word;
      } else {
        open += (fresh ? "" : " ") + word;
      }
      fresh = false;
    }
    lines.push_back(open);
  }
  return lines;
}

TEST(Prose, IsBrokenWhereTheNextWordDoesNotFit) {
  for (std::uint64_t number = 0; number < 200; ++number) {
    const std::string text = drawn_text(number);
    for (std::size_t width = 1; width <= 24; ++width) {
      ASSERT_EQ(lines_of(wrapped(text, width)), broken(text, 0, width)) << text << " at " << width;
    }
    EXPECT_EQ(wrapped(text, text.size()), text);
  }
}

// Words are shorter than what a line below leaves for them.
TEST(Prose, HangsWhereTheNextWordDoesNotFit) {
  for (std::uint64_t number = 0; number < 200; ++number) {
    const std::string text = "label: " + drawn_text(number);
    for (std::size_t indent : {0, 3, 7}) {
      for (std::size_t width = 17; width <= 34; ++width) {
        ASSERT_EQ(lines_of(hanging(text, indent, width)), broken(text, indent, width))
            << text << ", " << indent << " in, at " << width;
      }
    }
  }
}

TEST(Prose, HangsNoWordThatIsWiderThanTheLine) {
  EXPECT_EQ(hanging("label: wwwwwwwwwwww end", 2, 10), "label:\n  wwwwwwwwwwww end\n");
  EXPECT_EQ(hanging("abc wwwwwwwwwwww", 3, 10), "abc wwwwwwwwwwww\n") << "it would not fit below";
  EXPECT_EQ(hanging("", 2, 10), "");
  EXPECT_EQ(hanging("a\n\nb", 2, 10), "a\n\nb\n");
  EXPECT_EQ(hanging("exactly 10", 2, 10), "exactly 10\n");
  EXPECT_EQ(hanging("exactly 11.", 2, 10), "exactly\n  11.\n");
}

TEST(Prose, KeepsAWordThatIsWiderThanTheLine) {
  EXPECT_EQ(wrapped("wwwwwwwwwwww a b", 4), "wwwwwwwwwwww\na b");
  EXPECT_EQ(wrapped("a wwwwwwwwwwww\nb c", 4), "a\nwwwwwwwwwwww\nb c");
  EXPECT_EQ(wrapped("", 4), "");
  EXPECT_EQ(wrapped("abcd", 4), "abcd");
  EXPECT_EQ(wrapped("abcd efgh", 4), "abcd\nefgh");
  EXPECT_EQ(wrapped("a\n", 5), "a\n");
}

TEST(Prose, CountsRegularNouns) {
  EXPECT_EQ(counted(1, "grid"), "1 grid");
  EXPECT_EQ(counted(0, "grid"), "0 grids");
  EXPECT_EQ(counted(2, "micro-batch"), "2 micro-batches");
  EXPECT_EQ(counted(1, "micro-batch"), "1 micro-batch");
  EXPECT_EQ(counted(3, "graph"), "3 graphs");
  EXPECT_EQ(counted(21, "step"), "21 steps");
  EXPECT_EQ(counted(-1, "step"), "-1 steps");
}

TEST(Clock, ShowsHoursWhereThereAreAny) {
  for (std::int64_t hours : {0, 1, 9, 10, 27, 100}) {
    for (std::int64_t minutes : {0, 1, 9, 10, 59}) {
      for (std::int64_t seconds : {0, 7, 10, 59}) {
        const auto two = [](std::int64_t n) {
          return std::string(n < 10 ? "0" : "") + std::to_string(n);
        };
        const std::string expected =
            hours == 0 ? std::to_string(minutes) + ":" + two(seconds)
                       : std::to_string(hours) + ":" + two(minutes) + ":" + two(seconds);
        const auto whole = static_cast<double>(hours * 3600 + minutes * 60 + seconds);
        EXPECT_EQ(clock_text(whole), expected);
        EXPECT_EQ(clock_text(whole + 0.49), expected);
        EXPECT_EQ(clock_text(std::max(0.0, whole - 0.49)), expected);
      }
    }
  }
  EXPECT_EQ(clock_text(59.5), "1:00");
  EXPECT_EQ(clock_text(3599.5), "1:00:00");
  EXPECT_EQ(clock_text(-1.0), "?");
  EXPECT_EQ(clock_text(-0.1), "?");
}

// Letters left out, added, changed or swapped, by trying them all.
std::size_t mistakes(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const std::string shorter_a = a.substr(1), shorter_b = b.substr(1);
  std::size_t least = mistakes(shorter_a, shorter_b) + (a[0] == b[0] ? 0 : 1);
  least = std::min({least, mistakes(shorter_a, b) + 1, mistakes(a, shorter_b) + 1});
  if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0]) {
    least = std::min(least, mistakes(a.substr(2), b.substr(2)) + 1);
  }
  return least;
}

TEST(NearestName, HasTheFewestMistakes) {
  const auto drawn_word = [](std::uint64_t number, std::uint64_t which) {
    std::string word;
    for (std::uint64_t i = 0; i < 1 + random_at(4, number, which) % 5; ++i) {
      word += static_cast<char>('a' + random_at(5, number, 10 * which + i) % 3);
    }
    return word;
  };
  for (std::uint64_t number = 0; number < 120; ++number) {
    const std::string typed = drawn_word(number, 0);
    std::vector<std::string> known;
    for (std::uint64_t i = 1; i <= 4; ++i) known.push_back(drawn_word(number, i));
    std::string nearest = known.front();
    for (const std::string& word : known) {
      if (mistakes(typed, word) < mistakes(typed, nearest)) nearest = word;
    }
    const bool alike = mistakes(typed, nearest) <= std::max<std::size_t>(1, typed.size() / 2);

    EXPECT_EQ(nearest_name(typed, known), nearest) << typed;
    EXPECT_EQ(did_you_mean(typed, known), alike ? "; did you mean \"" + nearest + "\"?" : "")
        << typed;
  }
}

}  // namespace
}  // namespace fourfold::tests
