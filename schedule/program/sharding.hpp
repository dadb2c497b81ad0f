// How a matrix lies over the process grid: the axes that cut its rows, its columns, the local block
// once more in flat pieces, and the axes along which a reduction is still owed. Collectives are
// exactly the conversions between shardings.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "schedule/program/extent.hpp"
#include "schedule/program/process_grid.hpp"

namespace fourfold::inline schedule::inline program {

// Axes without an order: where a reduction is owed. Sets compare as numbers, x the lowest bit.
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
  constexpr auto operator<=>(const AxisSet&) const = default;

  // As ranks are numbered: x, y, z, data, pipe.
  std::vector<Axis> innermost_first() const;
  std::string str() const;  // "{z,data}"

 private:
  explicit constexpr AxisSet(int bits) : bits_(static_cast<std::uint8_t>(bits)) {}
  static constexpr int bit(Axis axis) { return 1 << static_cast<int>(axis); }

  std::uint8_t bits_ = 0;
};

// The axes that cut one direction, outermost first: {data, z} cuts by data, and each of those parts
// by z. Gathering and scattering act on the innermost axis only: the order decides which device
// holds what.
class Cuts {
 public:
  constexpr Cuts() = default;
  constexpr Cuts(std::initializer_list<Axis> outermost_first) {
    for (Axis axis : outermost_first) axes_[static_cast<std::size_t>(size_++)] = axis;
  }

  constexpr bool empty() const { return size_ == 0; }
  constexpr bool contains(Axis axis) const { return set().contains(axis); }
  constexpr bool innermost_is(Axis axis) const { return size_ > 0 && innermost() == axis; }
  constexpr Axis innermost() const { return axes_[static_cast<std::size_t>(size_ - 1)]; }
  // `axis` becomes the innermost.
  constexpr Cuts with(Axis axis) const {
    Cuts result = *this;
    result.axes_[static_cast<std::size_t>(result.size_++)] = axis;
    return result;
  }
  // The innermost axis goes.
  constexpr Cuts without_innermost() const {
    Cuts result = *this;
    result.axes_[static_cast<std::size_t>(--result.size_)] = Axis::x;
    return result;
  }
  constexpr AxisSet set() const {
    AxisSet set;
    for (Axis axis : *this) set = set.with(axis);
    return set;
  }
  constexpr const Axis* begin() const { return axes_.data(); }
  constexpr const Axis* end() const { return axes_.data() + size_; }
  constexpr bool operator==(const Cuts&) const = default;

  // Number of parts that the axes cut something into.
  std::int64_t parts(const ProcessGrid& grid) const {
    std::int64_t product = 1;
    for (Axis axis : *this) product *= grid.extent(axis);
    return product;
  }
  // Which of the parts is a rank's.
  // Example: {data, z} on 1x1x2x3: part = 2 x (coordinate on data) + (coordinate on z).
  std::int64_t part(const ProcessGrid& grid, std::int64_t rank) const;

  std::string str() const;  // "{data,z}"

 private:
  std::array<Axis, all_axes.size()> axes_{};
  std::int8_t size_ = 0;
};

// How the tokens of a micro-batch are shared out, by whole sequences. All who hold words, losses or
// activations follow it: each part is a copy of the model's, and owes gradients along these axes.
inline constexpr Cuts token_cuts{Axis::data, Axis::z};

enum class Owed : std::uint8_t { sum, max };

struct Sharding {
  Cuts rows;
  Cuts cols;
  Cuts pieces;
  AxisSet partial;
  Owed owed = Owed::sum;  // meaningful where partial is not empty

  bool operator==(const Sharding&) const = default;
  AxisSet cuts() const { return rows.set().united(cols.set()).united(pieces.set()); }
  std::string str() const;  // "rows {data,z} cols {y} owes sum {x}"
};

// Global extents with their sharding.
struct Shape {
  Extent rows;
  Extent cols;
  Sharding sharding;

  bool operator==(const Shape&) const = default;

  // Extents of the local block; cut extents are rounded up, which is where padding comes from.
  std::int64_t local_rows(const ProcessGrid& grid, const Quantities& quantities) const;
  std::int64_t local_cols(const ProcessGrid& grid, const Quantities& quantities) const;
  // Elements on one device, flat pieces rounded up.
  std::int64_t local_elements(const ProcessGrid& grid, const Quantities& quantities) const;
  // Whether a device's block is a row of flat pieces.
  bool flat() const { return !sharding.pieces.empty(); }
};

}  // namespace fourfold::inline schedule::inline program
