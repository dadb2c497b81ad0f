// Tables fit a page: what says nothing goes, then what can be spared, and that is said.
#include "scaling/words/text_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

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
  const std::string page = format(wide_table());

  EXPECT_LE(widest_line(page), page_width);
  EXPECT_THAT(page, HasSubstr("Left out to fit the page: first to go, micro-batches, stays; "));
  EXPECT_THAT(page, HasSubstr("kept"));
}

TEST(TextTables, ATextInTheLastColumnGoesOnBelowItself) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "word ";
  const TextTable table{{{"name", ""}, {"source", "", Align::left}}, {{"a", text}, {"b", "short"}}};

  const std::string page = format(table);

  EXPECT_LE(widest_line(page), page_width);
  EXPECT_THAT(page, HasSubstr("\n      word word"));
  EXPECT_THAT(page, HasSubstr("\n   b  short\n"));
}

TEST(TextTables, WideOnesHaveAllColumns) {
  const std::string text = format(wide_table(), Width::whole);

  EXPECT_EQ(widest_line(text), 6u * 30 + 5 * 2);
  EXPECT_THAT(text, Not(HasSubstr("Left out")));
}

}  // namespace
}  // namespace fourfold::tests
