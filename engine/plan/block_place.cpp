// Arithmetic of blocks and flat pieces; see block_place.hpp.
#include "engine/plan/block_place.hpp"

#include <algorithm>
#include <stdexcept>

namespace fourfold {

Part part_of(std::int64_t whole, const ProcessGrid& grid, std::int64_t rank, const Cuts& cuts) {
  const std::int64_t parts = cuts.parts(grid);
  Part part;
  part.extent = (whole + parts - 1) / parts;
  part.first = cuts.part(grid, rank) * part.extent;
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
  if (!shape.rows.constant()) {
    throw std::logic_error("block_place: a shape whose rows are tokens has no fixed rows");
  }
  BlockPlace result;
  result.rows = part_of(shape.rows.value({}), grid, rank, shape.sharding.rows);
  result.cols = part_of(shape.cols.value({}), grid, rank, shape.sharding.cols);
  result.elements = shape.local_elements(grid, {});
  result.first_element = shape.sharding.pieces.part(grid, rank) * result.elements;
  return result;
}

}  // namespace fourfold
