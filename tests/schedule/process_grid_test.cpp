// Rank arithmetic: who is whose neighbour along which axis.
#include "schedule/program/process_grid.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace fourfold {
namespace {

TEST(ProcessGrid, ALineIsTheRanksThatDifferAlongItsAxisAlone) {
  const ProcessGrid grid(2, 3, 2, 2);
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    for (Axis axis : all_axes) {
      const auto along = static_cast<std::size_t>(axis);
      std::vector<std::int64_t> expected;
      for (std::int64_t other = 0; other < grid.size(); ++other) {
        Coordinates place = grid.coordinates(other);
        place[along] = grid.coordinates(rank)[along];
        if (place == grid.coordinates(rank)) expected.push_back(other);
      }

      EXPECT_EQ(grid.line(rank, axis), expected) << "rank " << rank << " along " << name(axis);
    }
  }
}

TEST(ProcessGrid, IsReadFromFourExtentsAndNothingElse) {
  EXPECT_EQ(ProcessGrid::parse("8x4x16x64"), ProcessGrid(8, 4, 16, 64));
  for (const char* text : {"", "8", "8x4x16", "8x4x16x", "8x4x16x64x", "8x4x16x64x2", "8x4x16x64 ",
                           "8x4x16x64GB", "x8x4x16x64", "8x-4x16x64", "8x4xx64"}) {
    EXPECT_THROW(ProcessGrid::parse(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace fourfold
