// Lines of a readable length, and nouns that agree with their number.
#include <gtest/gtest.h>

#include "support/prose.hpp"

namespace fourfold {
namespace {

TEST(Words, WrapAtTheLastBlankThatFits) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 6), "one\ntwo\nthree");
  EXPECT_EQ(wrapped("one two three", 13), "one two three");
}

TEST(Words, KeepLineEndsAndWordsThatAreTooLong) {
  EXPECT_EQ(wrapped("one\ntwo three", 7), "one\ntwo\nthree");
  EXPECT_EQ(wrapped("seventeen letters here", 5), "seventeen\nletters\nhere");
  EXPECT_EQ(wrapped("", 5), "");
  EXPECT_EQ(wrapped("a\n", 5), "a\n");
}

TEST(Words, AgreeWithTheirNumber) {
  EXPECT_EQ(counted(0, "grid"), "0 grids");
  EXPECT_EQ(counted(1, "grid"), "1 grid");
  EXPECT_EQ(counted(1, "micro-batch"), "1 micro-batch");
  EXPECT_EQ(counted(2, "micro-batch"), "2 micro-batches");
}

}  // namespace
}  // namespace fourfold
