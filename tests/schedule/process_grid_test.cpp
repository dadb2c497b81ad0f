// Rank arithmetic: who is whose neighbour along which axis.
#include "schedule/program/process_grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

TEST(ProcessGrid, IsReadFromFourExtentsAndNothingElse) {
  EXPECT_EQ(ProcessGrid::parse("8x4x16x64"), ProcessGrid(8, 4, 16, 64));
  for (const char* text : {"", "8", "8x4x16", "8x4x16x", "8x4x16x64x", "8x4x16x64x2", "8x4x16x64 ",
                           "8x4x16x64GB", "x8x4x16x64", "8x-4x16x64", "8x4xx64"}) {
    EXPECT_THROW(ProcessGrid::parse(text), std::invalid_argument) << text;
  }
}

TEST(ProcessGrid, IsReadFromNamedExtentsEachOnce) {
  EXPECT_EQ(ProcessGrid::parse("data=8,x=2,pipe=1"), ProcessGrid(2, 1, 1, 8));
  const auto why = [](const std::string& text) {
    return refusal([&] { ProcessGrid::parse(text); });
  };
  for (const char* text : {"x=1,x=8", "x=8,x=1", "x=2,x=2", "x=2,tp=2"}) {
    EXPECT_THAT(why(text), testing::HasSubstr("axis x stands there twice")) << text;
  }
  EXPECT_THAT(why("x=0,data=2"), testing::HasSubstr("the extent of axis x is 0"));
  EXPECT_THAT(why("x=2,8"), testing::HasSubstr("write each extent with its axis"));
  EXPECT_THAT(why("x=2y,data=2"), testing::HasSubstr("extent of axis x must be a whole number"));
  EXPECT_THAT(why("x=2,"), testing::HasSubstr("write each extent with its axis"));
  EXPECT_THAT(why("w=2"), testing::HasSubstr("'w' is no axis; the axes are x (or tp)"));
}

}  // namespace
}  // namespace fourfold::tests
