// Tables fit a page: what says nothing goes, then what can be spared, and that is said.
#include "scaling/words/text_table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

#include "tests/drawn_steps.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TextTable wide_table() {
  const std::string cell(30, 'x');
  return {{{"name", "", Align::left},
           {"first to go", "", Align::right, 9},
           {"kept", ""},
           {"micro-", "batches", Align::right, 8},
           {"stays", "", Align::right, 1},
           {"last", ""}},
          {{cell, cell, cell, cell, cell, cell}}};
}

TEST(TextTables, AColumnInWhichNothingIsSaidIsLeftOut) {
  const TextTable table{{{"name", ""}, {"empty", "s"}, {"half", ""}},
                        {{"a", "-", "- "}, {}, {"b", "", "1"}}};

  const std::string text = format(table);

  EXPECT_THAT(text, Not(HasSubstr("empty")));
  EXPECT_THAT(text, HasSubstr("half"));
  EXPECT_EQ(format({{{"name", ""}, {"kept", ""}}, {}}), "name  kept\n----------\n");
}

TEST(TextTables, APageHasNoMoreThanItsColumnsAndNamesWhatIsLeftOut) {
  const std::string page = format(wide_table()), whole = format(wide_table(), Width::whole);

  EXPECT_LE(widest_line(page), page_width);
  EXPECT_THAT(page, HasSubstr("Left out to fit the page: first to go, micro-batches, stays; "));
  EXPECT_THAT(page, HasSubstr("kept"));
  EXPECT_EQ(widest_line(whole), 6u * 30 + 5 * 2);
  EXPECT_THAT(whole, Not(HasSubstr("Left out")));
}

// Of drawn columns of texts: a page holds them, and each cell still has its words in their order.
TEST(TextTables, TextsOfAnyColumnGoOnBelowThemselves) {
  int folded = 0;
  for (std::int64_t number = 0; number < 300; ++number) {
    const Draw draw(number, 0);
    const std::int64_t columns = draw.of<std::int64_t>("columns", {2, 3, 5, 6});
    const std::int64_t rows = draw.of<std::int64_t>("rows", {1, 2, 4});
    TextTable table;
    std::vector<std::vector<std::string>> words;  // by cell
    for (std::int64_t i = 0; i < columns; ++i) {
      const bool text = i == 0 || draw.often(fmt::format("text {}", i), 70);
      table.columns.push_back({fmt::format("h{}", i), "", text ? Align::left : Align::right});
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      std::vector<std::string> row;
      for (std::int64_t i = 0; i < columns; ++i) {
        const std::string of = fmt::format("{} {} ", r, i);
        const bool text = table.columns[static_cast<std::size_t>(i)].align == Align::left;
        const std::int64_t count = text ? 1 + draw.below(of + "count", 25) : 1;
        std::vector<std::string>& cell = words.emplace_back();
        for (std::int64_t w = 0; w < count; ++w) {
          cell.push_back(fmt::format("{}.{}.{}", r, i, w));
        }
        row.push_back(fmt::format("{}", fmt::join(cell, " ")));
      }
      table.rows.push_back(row);
    }

    const std::string page = format(table);

    EXPECT_LE(widest_line(page), page_width) << page;
    for (const std::vector<std::string>& cell : words) {
      std::size_t place = 0;
      for (const std::string& word : cell) {
        place = page.find(word, place);
        ASSERT_NE(place, std::string::npos) << word << " in\n" << page;
      }
    }
    folded += page == format(table, Width::whole) ? 0 : 1;
  }
  EXPECT_GT(folded, 100);
}

// A path that no line has room for goes on below itself, whole.
TEST(TextTables, WordsThatAreTooLongGoOnBelowThemselves) {
  for (const std::string& mark : {std::string("/"), std::string("_"), std::string()}) {
    std::string path;
    for (int i = 0; i < 20; ++i) path += "folder" + mark;
    const std::string number(55, '1');
    const TextTable table{{{"n", ""}, {"where", "", Align::left}, {"what", "", Align::left}},
                          {{number, path, path}}};

    const std::string page = format(table);

    EXPECT_LE(widest_line(page), page_width) << page;
    std::string found;
    for (const char letter : page) {
      if (letter != ' ' && letter != '\n') found += letter;
    }
    std::size_t count = 0;
    for (std::size_t at = 0; (at = page.find("folder", at)) != std::string::npos; ++at) ++count;
    EXPECT_GE(count, mark.empty() ? 20U : 40U) << page;
  }
}

TEST(TextTables, WordsThatJustHaveRoomAreWhole) {
  const std::string word = "folder/of_twenty-four/at";
  for (std::size_t digits = 60; digits < 110; ++digits) {
    const std::string number(digits, '1');
    const std::string page = format(
        {{{"n", ""}, {"where", "", Align::left}}, {{number, word + " " + word + " " + word}}});

    EXPECT_THAT(page, HasSubstr(word)) << page;
  }
}

TEST(TextTables, AlignLettersOfSeveralBytesAndDropTrailingBlanks) {
  EXPECT_EQ(format({{{"name", "", Align::left}, {"value", "s"}},
                    {{"a", "1.00"}, {}, {"für", "12.50"}, {"länger", ""}}}),
            "name    value\n"
            "            s\n"
            "-------------\n"
            "a        1.00\n"
            "-------------\n"
            "für     12.50\n"
            "länger\n");
  EXPECT_THROW(format({{{"a", ""}, {"b", ""}}, {{"1"}}}), std::logic_error);
}

}  // namespace
}  // namespace fourfold::tests
