// Where the ranks of a grid lie on a machine: which axis's neighbours are next to each other. Ranks
// keep their numbers, whatever the order.
#pragma once

#include <string>

#include "schedule/program/process_grid.hpp"

namespace fourfold::inline schedule::inline program {

class RankOrder {
 public:
  // As ranks are numbered: x, y, z, data, pipe, so that rank r lies r-th.
  constexpr RankOrder() = default;
  // Reads "x,y,z,pipe,data", neighbours first, by the names that a grid takes; axes that are not
  // named follow as ranks are numbered. Throws std::invalid_argument with a sentence.
  static RankOrder parse(const std::string& text);

  // How far apart neighbours along an axis lie, if ranks lie one after the other.
  // Example: x,pipe,data on x=2,data=4,pipe=3: 1 along x, 2 along pipe, 6 along data.
  std::int64_t distance(const ProcessGrid& grid, Axis axis) const;
  // Where a rank lies among all.
  std::int64_t place(const ProcessGrid& grid, std::int64_t rank) const;

  bool as_numbered() const { return *this == RankOrder(); }
  std::string str() const;  // "x,y,z,pipe,data"
  bool operator==(const RankOrder&) const = default;

 private:
  std::array<Axis, axis_count> axes_ = all_axes;  // neighbours first
};

}  // namespace fourfold::inline schedule::inline program
