// Local extents and readable forms of shardings; see sharding.hpp.
#include "schedule/program/sharding.hpp"

namespace fourfold {

namespace {

std::int64_t divided_up(std::int64_t whole, std::int64_t parts) {
  return (whole + parts - 1) / parts;
}

}  // namespace

std::string AxisSet::str() const {
  std::string text = "{";
  for (Axis axis : all_axes) {
    if (!contains(axis)) continue;
    if (text.size() > 1) text += ',';
    text += name(axis);
  }
  return text + '}';
}

std::string Sharding::str() const {
  std::string text;
  const auto append = [&text](const char* what, AxisSet axes) {
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

std::int64_t Shape::local_rows(const ProcessGrid& grid, std::int64_t tokens) const {
  return divided_up(rows_are_tokens ? tokens : rows, sharding.rows.parts(grid));
}

std::int64_t Shape::local_cols(const ProcessGrid& grid) const {
  return divided_up(cols, sharding.cols.parts(grid));
}

std::int64_t Shape::local_elements(const ProcessGrid& grid, std::int64_t tokens) const {
  return divided_up(local_rows(grid, tokens) * local_cols(grid), sharding.pieces.parts(grid));
}

}  // namespace fourfold
