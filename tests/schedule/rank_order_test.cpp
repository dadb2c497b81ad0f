// Where ranks lie under an order of the axes, by hand.
#include "schedule/program/rank_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

const ProcessGrid grid(2, 1, 3, 4, 5);  // x, y, z, data, pipe

TEST(RankOrder, OfTheNumbersIsTheUsualOne) {
  const RankOrder order;

  EXPECT_TRUE(order.as_numbered());
  EXPECT_EQ(order.str(), "x,y,z,data,pipe");
  for (Axis axis : all_axes) EXPECT_EQ(order.distance(grid, axis), grid.stride(axis));
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) EXPECT_EQ(order.place(grid, rank), rank);
}

TEST(RankOrder, PutsTheFirstAxissNeighboursNextToEachOther) {
  const RankOrder order = RankOrder::parse("pipe,x,data,z,y");

  EXPECT_FALSE(order.as_numbered());
  EXPECT_EQ(order.distance(grid, Axis::pipe), 1);
  EXPECT_EQ(order.distance(grid, Axis::x), 5);
  EXPECT_EQ(order.distance(grid, Axis::data), 10);
  EXPECT_EQ(order.distance(grid, Axis::z), 40);
  EXPECT_EQ(order.distance(grid, Axis::y), 120);
}

TEST(RankOrder, GivesEachRankAPlaceOfItsOwn) {
  for (const char* text : {"pipe,x,data,z,y", "x,y,z,pipe,data", "data,pipe"}) {
    const RankOrder order = RankOrder::parse(text);
    std::set<std::int64_t> places;

    for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
      places.insert(order.place(grid, rank));
      for (Axis axis : all_axes) {
        const std::vector<std::int64_t> line = grid.line(rank, axis);
        for (std::size_t i = 1; i < line.size(); ++i) {
          EXPECT_EQ(order.place(grid, line[i]) - order.place(grid, line[i - 1]),
                    order.distance(grid, axis));
        }
      }
    }

    EXPECT_EQ(std::ssize(places), grid.size());
    EXPECT_EQ(*places.rbegin(), grid.size() - 1);
  }
}

TEST(RankOrder, IsReadByTheNamesOfAxesAndCompleted) {
  EXPECT_EQ(RankOrder::parse("tp,pp,dp").str(), "x,pipe,data,y,z");
  EXPECT_EQ(RankOrder::parse("x,y,z,data,pipe"), RankOrder());
  EXPECT_THAT(refusal([] { RankOrder::parse("x,q"); }), HasSubstr("'q' is no axis"));
  EXPECT_THAT(refusal([] { RankOrder::parse("x,pipe,pp"); }),
              HasSubstr("axis pipe stands there twice"));
  EXPECT_THAT(refusal([] { RankOrder::parse(""); }), HasSubstr("it names no axis"));
}

}  // namespace
}  // namespace fourfold::tests
