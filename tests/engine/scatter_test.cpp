// Blocks of a matrix: worked examples, and the way there and back on many grids.
#include "engine/reference/scatter.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace fourfold::tests {
namespace {

Matrix<double> counted(std::int64_t rows, std::int64_t cols) {
  Matrix<double> matrix(rows, cols);
  std::iota(matrix.values.begin(), matrix.values.end(), 1.0);
  return matrix;
}

TEST(BlockPlace, ElevenRowsOverFourDevicesLeavePaddingAtTheEnd) {
  const ProcessGrid grid(4, 1, 1, 1);

  const Part second = part_of(11, grid, 1, {Axis::x});
  const Part last = part_of(11, grid, 3, {Axis::x});

  EXPECT_EQ(second.first, 3);
  EXPECT_EQ(second.valid, 3);
  EXPECT_EQ(last.first, 9);
  EXPECT_EQ(last.extent, 3);
  EXPECT_EQ(last.valid, 2);
  EXPECT_TRUE(last.holds(10));
  EXPECT_FALSE(last.holds(11));
}

TEST(BlockPlace, TheOrderOfCutsDecidesWhoHoldsWhat) {
  const ProcessGrid grid(2, 1, 3, 2);

  // rank 7 = x 1, z 0, data 1
  EXPECT_EQ((Cuts{Axis::data, Axis::z}.part(grid, 7)), 3);
  EXPECT_EQ((Cuts{Axis::z, Axis::data}.part(grid, 7)), 1);
  EXPECT_EQ(Cuts{Axis::x}.part(grid, 7), 1);
}

TEST(BlockPlace, ShapesOfTokensAreRefused) {
  EXPECT_THROW(block_place({all_tokens, 4, {}}, ProcessGrid(), 0), std::logic_error);
}

// 3 x 4 cut by x into columns {1,2,5,6,9,10} and the rest, then by z into two flat pieces of three.
TEST(Scatter, CutsBlocksOnceMoreInFlatPieces) {
  const Shape shape{3, 4, {{}, {Axis::x}, {Axis::z}, {}, Owed::sum}};
  const ProcessGrid grid(2, 1, 2, 1);

  const Matrix<double> first = scatter(shape, grid, 0, counted(3, 4));
  const Matrix<double> last = scatter(shape, grid, 3, counted(3, 4));

  EXPECT_EQ(first.values, (std::vector<double>{1, 2, 5}));
  EXPECT_EQ(last.values, (std::vector<double>{8, 11, 12}));
}

TEST(Scatter, GatherIsItsInverseOnEveryGrid) {
  for (const char* text : {"1x1x1x1", "2x3x1x1", "3x2x2x1", "1x2x5x2", "4x1x3x1", "2x2x2x2"}) {
    const ProcessGrid grid = ProcessGrid::parse(text);
    for (const Shape& shape : {Shape{7, 5, {{Axis::x}, {Axis::y}, {Axis::z}, {}, Owed::sum}},
                               Shape{1, 9, {{}, {Axis::y}, {}, {}, Owed::sum}},
                               Shape{4, 6, {{Axis::y}, {Axis::x}, {Axis::z}, {}, Owed::sum}}}) {
      const Matrix<double> global = counted(shape.rows.value({}), shape.cols.value({}));
      std::vector<Matrix<double>> blocks;
      for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
        blocks.push_back(scatter(shape, grid, rank, global));
        EXPECT_EQ(static_cast<std::int64_t>(blocks.back().values.size()),
                  shape.local_elements(grid, {}));
      }
      EXPECT_TRUE(gather(shape, grid, blocks) == global) << text;
    }
  }
}

TEST(Scatter, GatherRefusesReplicasThatDriftedApartAndPaddingThatIsNotZero) {
  const Shape shape{3, 2, {{Axis::x}, {}, {}, {}, Owed::sum}};
  const ProcessGrid grid(2, 2, 1, 1);
  std::vector<Matrix<double>> blocks;
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    blocks.push_back(scatter(shape, grid, rank, counted(3, 2)));
  }
  std::vector<Matrix<double>> drifted = blocks;
  drifted[2].values[0] += 1e-15;
  std::vector<Matrix<double>> dirty = blocks;
  dirty[3].values[3] = 1.0;

  EXPECT_THROW(gather(shape, grid, drifted), std::logic_error);
  EXPECT_THROW(gather(shape, grid, dirty), std::logic_error);
}

TEST(Scatter, RefusesAMatrixOfOtherExtents) {
  EXPECT_THROW(scatter<double>({3, 2, {}}, ProcessGrid(), 0, counted(2, 3)), std::invalid_argument);
}

}  // namespace
}  // namespace fourfold::tests
