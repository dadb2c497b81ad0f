// Straight lines in characters: '-' and '|' along the axes, '\' and '/' between, 'X' where they
// cross.
#include "platforms/show/canvas.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace fourfold::inline platforms::inline show {

Canvas::Canvas(int columns, int rows)
    : rows_(static_cast<std::size_t>(rows), std::string(static_cast<std::size_t>(columns), ' ')) {}

void Canvas::put(Spot at, char letter) {
  if (at.row < 0 || static_cast<std::size_t>(at.row) >= rows_.size()) return;
  std::string& row = rows_[static_cast<std::size_t>(at.row)];
  if (at.column < 0 || static_cast<std::size_t>(at.column) >= row.size()) return;
  char& place = row[static_cast<std::size_t>(at.column)];
  const bool crossing = (place == '\\' && letter == '/') || (place == '/' && letter == '\\');
  place = crossing ? 'X' : letter;
}

void Canvas::write(Spot at, const std::string& text) {
  for (const char letter : text) {
    put(at, letter);
    ++at.column;
  }
}

void Canvas::line(Spot from, Spot to) {
  const int across = to.column - from.column;
  const int down = to.row - from.row;
  if (down == 0) {
    for (int i = 0; i <= std::abs(across); ++i) {
      put({std::min(from.column, to.column) + i, from.row}, '-');
    }
    return;
  }
  const char letter = across == 0 ? '|' : (across > 0) == (down > 0) ? '\\' : '/';
  const int step = down > 0 ? 1 : -1;
  for (int i = 0; i <= std::abs(down); ++i) {
    put({from.column + across * i / std::abs(down), from.row + step * i}, letter);
  }
}

std::string Canvas::text() const {
  std::string all;
  for (const std::string& row : rows_) {
    all += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return all;
}

}  // namespace fourfold::inline platforms::inline show
