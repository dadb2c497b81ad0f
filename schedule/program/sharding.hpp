// How a matrix lies over the process grid: the axes that cut its rows, its columns, the local block
// once more in flat pieces, and the axes along which a reduction is still owed. Collectives are
// exactly the conversions between shardings.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "schedule/program/process_grid.hpp"

namespace fourfold {

class AxisSet {
 public:
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (Axis axis : axes) bits_ |= bit(axis);
  }

  constexpr bool contains(Axis axis) const { return (bits_ & bit(axis)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool overlaps(AxisSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr AxisSet with(Axis axis) const { return AxisSet(bits_ | bit(axis)); }
  constexpr AxisSet without(Axis axis) const { return AxisSet(bits_ & ~bit(axis)); }
  constexpr AxisSet united(AxisSet other) const { return AxisSet(bits_ | other.bits_); }
  constexpr bool operator==(const AxisSet&) const = default;

  // Number of parts the axes of this set cut something into.
  std::int64_t parts(const ProcessGrid& grid) const {
    std::int64_t product = 1;
    for (Axis axis : all_axes) {
      if (contains(axis)) product *= grid.extent(axis);
    }
    return product;
  }

  std::string str() const;  // "{z,data}"

 private:
  explicit constexpr AxisSet(int bits) : bits_(static_cast<std::uint8_t>(bits)) {}
  static constexpr int bit(Axis axis) { return 1 << static_cast<int>(axis); }

  std::uint8_t bits_ = 0;
};

enum class Owed : std::uint8_t { sum, max };

struct Sharding {
  AxisSet rows;
  AxisSet cols;
  AxisSet pieces;
  AxisSet partial;
  Owed owed = Owed::sum;  // meaningful where partial is not empty

  bool operator==(const Sharding&) const = default;
  AxisSet cuts() const { return rows.united(cols).united(pieces); }
  std::string str() const;  // "rows {z,data} cols {y} owes sum {x}"
};

// Global extents with their sharding. Rows that are the tokens of a micro-batch are marked, so that
// one program serves every number of micro-batches.
struct Shape {
  std::int64_t rows = 0;  // ignored where rows_are_tokens
  std::int64_t cols = 0;
  Sharding sharding;
  bool rows_are_tokens = false;

  bool operator==(const Shape&) const = default;

  // Extents of the local block; cut extents are rounded up, which is where padding comes from.
  // `tokens` are those of one micro-batch over all devices.
  std::int64_t local_rows(const ProcessGrid& grid, std::int64_t tokens) const;
  std::int64_t local_cols(const ProcessGrid& grid) const;
  // Elements on one device, flat pieces rounded up.
  std::int64_t local_elements(const ProcessGrid& grid, std::int64_t tokens) const;
};

}  // namespace fourfold
