// Arithmetic of blocks and flat pieces; see block_place.hpp.
#include "engine/plan/block_place.hpp"

#include <algorithm>
#include <stdexcept>

namespace fourfold::inline engine::inline plan {

bool is_first(const ProcessGrid& grid, std::int64_t rank, AxisSet along) {
  return std::ranges::all_of(every_axis, [&](Axis axis) {
    return !along.contains(axis) || grid.coordinate(rank, axis) == 0;
  });
}

Part part_of(std::int64_t whole, const ProcessGrid& grid, std::int64_t rank, const Cuts& cuts) {
  Part part{0, whole, whole};
  for (Axis axis : cuts) {
    const std::int64_t parts = grid.extent(axis);
    part.extent = (part.extent + parts - 1) / parts;
    const std::int64_t before = grid.coordinate(rank, axis) * part.extent;
    part.first += before;
    part.valid = std::clamp<std::int64_t>(part.valid - before, 0, part.extent);
  }
  return part;
}

std::optional<std::pair<std::int64_t, std::int64_t>> BlockPlace::global(std::int64_t i) const {
  const std::int64_t in_block = first_element + i;
  if (i >= valid_elements) return std::nullopt;
  const std::int64_t row = in_block / cols.extent;
  const std::int64_t col = in_block % cols.extent;
  if (row >= rows.valid || col >= cols.valid) return std::nullopt;
  return std::pair{rows.first + row, cols.first + col};
}

BlockPlace block_place(const Shape& shape, const ProcessGrid& grid, std::int64_t rank) {
  if (!shape.rows.constant()) {
    throw std::logic_error("block_place: a shape whose rows are tokens has no fixed rows");
  }
  BlockPlace result;
  result.rows = part_of(shape.rows.value({}), grid, rank, shape.sharding.rows);
  result.cols = part_of(shape.cols.value({}), grid, rank, shape.sharding.cols);
  const Part piece =
      part_of(result.rows.extent * result.cols.extent, grid, rank, shape.sharding.pieces);
  result.elements = piece.extent;
  result.first_element = piece.first;
  result.valid_elements = piece.valid;
  return result;
}

}  // namespace fourfold::inline engine::inline plan
