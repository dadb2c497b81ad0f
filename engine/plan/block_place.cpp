// Arithmetic of blocks and flat pieces; see block_place.hpp.
#include "engine/plan/block_place.hpp"

#include <algorithm>
#include <stdexcept>

namespace fourfold {

std::int64_t part_index(const ProcessGrid& grid, std::int64_t rank, AxisSet axes) {
  const std::array<std::int64_t, 4> coordinates = grid.coordinates(rank);
  std::int64_t index = 0;
  std::int64_t stride = 1;
  for (Axis axis : all_axes) {
    if (!axes.contains(axis)) continue;
    index += stride * coordinates[static_cast<std::size_t>(axis)];
    stride *= grid.extent(axis);
  }
  return index;
}

Part part_of(std::int64_t whole, const ProcessGrid& grid, std::int64_t rank, AxisSet axes) {
  const std::int64_t parts = axes.parts(grid);
  Part part;
  part.extent = (whole + parts - 1) / parts;
  part.first = part_index(grid, rank, axes) * part.extent;
  part.valid = std::clamp<std::int64_t>(whole - part.first, 0, part.extent);
  return part;
}

std::optional<std::pair<std::int64_t, std::int64_t>> BlockPlace::global(std::int64_t i) const {
  const std::int64_t in_block = first_element + i;
  const std::int64_t row = in_block / cols.extent;
  const std::int64_t col = in_block % cols.extent;
  if (row >= rows.valid || col >= cols.valid) return std::nullopt;
  return std::pair{rows.first + row, cols.first + col};
}

BlockPlace block_place(const Shape& shape, const ProcessGrid& grid, std::int64_t rank) {
  if (shape.rows_are_tokens) {
    throw std::logic_error("block_place: a shape whose rows are tokens has no fixed rows");
  }
  BlockPlace result;
  result.rows = part_of(shape.rows, grid, rank, shape.sharding.rows);
  result.cols = part_of(shape.cols, grid, rank, shape.sharding.cols);
  result.elements = shape.local_elements(grid, 0);
  result.first_element = part_index(grid, rank, shape.sharding.pieces) * result.elements;
  return result;
}

}  // namespace fourfold
