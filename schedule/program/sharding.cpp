// Local extents and readable forms of shardings; see sharding.hpp.
#include "schedule/program/sharding.hpp"

namespace fourfold::inline schedule::inline program {

namespace {

std::int64_t divided_up(std::int64_t whole, std::int64_t parts) {
  return (whole + parts - 1) / parts;
}

}  // namespace

std::string Extent::str() const {
  if (unit_ > 1) return in_units(1).str() + " in units of " + std::to_string(unit_);
  if (constant()) return std::to_string(value({}));
  if (times_ == 1 && over_ == 1) return "tokens";
  std::string text = std::to_string(times_);
  if (over_ != 1) text.append(1, '/').append(std::to_string(over_));
  return text.append(" tokens");
}

std::vector<Axis> AxisSet::innermost_first() const {
  std::vector<Axis> axes;
  for (Axis axis : every_axis) {
    if (contains(axis)) axes.push_back(axis);
  }
  return axes;
}

std::string AxisSet::str() const {
  std::string text = "{";
  for (Axis axis : innermost_first()) text.append(text.size() > 1 ? "," : "").append(name(axis));
  return text + '}';
}

std::string Cuts::str() const {
  std::string text = "{";
  for (Axis axis : *this) text.append(text.size() > 1 ? "," : "").append(name(axis));
  return text + '}';
}

std::int64_t Cuts::part(const ProcessGrid& grid, std::int64_t rank) const {
  std::int64_t part = 0;
  for (Axis axis : *this) part = part * grid.extent(axis) + grid.coordinate(rank, axis);
  return part;
}

std::string Sharding::str() const {
  std::string text;
  const auto append = [&text](const char* what, const auto& axes) {
    if (axes.empty()) return;
    if (!text.empty()) text += ' ';
    text += what + axes.str();
  };
  append("rows ", rows);
  append("cols ", cols);
  append("pieces ", pieces);
  append(owed == Owed::sum ? "owes sum " : "owes max ", partial);
  return text.empty() ? "replicated" : text;
}

std::int64_t Shape::local_rows(const ProcessGrid& grid, const Quantities& quantities) const {
  return rows.part(quantities, sharding.rows.parts(grid));
}

std::int64_t Shape::local_cols(const ProcessGrid& grid, const Quantities& quantities) const {
  return cols.part(quantities, sharding.cols.parts(grid));
}

std::int64_t Shape::local_elements(const ProcessGrid& grid, const Quantities& quantities) const {
  return divided_up(local_rows(grid, quantities) * local_cols(grid, quantities),
                    sharding.pieces.parts(grid));
}

}  // namespace fourfold::inline schedule::inline program
