// What the live table of a campaign says of the moment.
#include "scaling/jobs/board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Display narrow{false, 60};

TEST(Board, ShowsTheWholeAndEachPointAtWork) {
  Board board(4, 100.0, narrow);
  board.begin(7, "frontier 512 gpt-5b", 20.0);
  board.begin(8, "frontier 1024 gpt-5b", 30.0);
  board.update(8, "simulated 2 of at most 8 grids", 0.5);

  const std::vector<std::string> lines = board.lines();

  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], StartsWith("0 of 4 points done, 15 % of the work, about"));
  EXPECT_THAT(lines[1], HasSubstr("frontier 512 gpt-5b"));
  EXPECT_THAT(lines[1], HasSubstr("starting"));
  EXPECT_THAT(lines[2], HasSubstr(" 50 %"));
}

TEST(Board, KeepsToTheWidthOfTheScreen) {
  Board board(1, 1.0, narrow);
  board.begin(0, std::string(200, 'm'), 1.0);
  board.update(0, std::string(200, 'a'), 0.25);

  for (const std::string& line : board.lines()) EXPECT_LE(line.size(), narrow.columns);
}

TEST(Board, CountsWhatFailedAndWhatIsPutBack) {
  Board board(2, 2.0, narrow);
  board.begin(0, "a", 1.0);
  board.begin(1, "b", 1.0);
  board.fail(0);
  board.put_back(1, "it was killed");

  const std::vector<std::string> lines = board.lines();

  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], StartsWith("1 of 2 points done, 1 failed, 50 % of the work"));
}

}  // namespace
}  // namespace fourfold::tests
