// Where one device's block lies in its global matrix. Cut extents are rounded up, so that all
// blocks have one size: what lies beyond the matrix is padding, and padding is always zero.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "schedule/program/sharding.hpp"

namespace fourfold::inline engine::inline plan {

// A device's share of `whole` things, cut axis by axis, the outermost first. Examples: 11 rows over
// 4 devices are shares of 3, 3, 3, 2 rows, each with room for 3; 6 over 2 x 2 are 2, 1, 2, 1.
struct Part {
  std::int64_t first = 0;
  std::int64_t extent = 0;  // with padding
  std::int64_t valid = 0;   // without
  bool holds(std::int64_t i) const { return i >= first && i < first + valid; }
};

// Whether it is the first device along each of the axes.
bool is_first(const ProcessGrid& grid, std::int64_t rank, AxisSet along);

Part part_of(std::int64_t whole, const ProcessGrid& grid, std::int64_t rank, const Cuts& cuts);

struct BlockPlace {
  Part rows, cols;
  std::int64_t first_element = 0;   // of the block, where it is cut once more in flat pieces
  std::int64_t elements = 0;        // as Shape::local_elements
  std::int64_t valid_elements = 0;  // of them, not padding of a cut into pieces

  // Row and column in the global matrix of this device's i-th element; nothing for padding.
  std::optional<std::pair<std::int64_t, std::int64_t>> global(std::int64_t i) const;
};

// The shape's rows must not be tokens.
BlockPlace block_place(const Shape& shape, const ProcessGrid& grid, std::int64_t rank);

}  // namespace fourfold::inline engine::inline plan
