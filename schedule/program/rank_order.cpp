// Distances and places under an order of the axes; see rank_order.hpp.
#include "schedule/program/rank_order.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace fourfold::inline schedule::inline program {

RankOrder RankOrder::parse(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("'" + text + "' is no order of ranks: " + why);
  };
  std::vector<Axis> axes;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::optional<Axis> axis = axis_called(word);
    if (!axis) refuse("'" + word + "' is no axis; write such as x,y,z,pipe,data, neighbours first");
    if (std::ranges::count(axes, *axis) > 0) {
      refuse(std::string("axis ") + name(*axis) + " stands there twice");
    }
    axes.push_back(*axis);
  }
  if (axes.empty()) refuse("it names no axis");
  for (Axis axis : all_axes) {
    if (std::ranges::count(axes, axis) == 0) axes.push_back(axis);
  }
  RankOrder order;
  std::ranges::copy(axes, order.axes_.begin());
  return order;
}

std::int64_t RankOrder::distance(const ProcessGrid& grid, Axis axis) const {
  if (is_second(axis)) return grid.stride(axis);
  std::int64_t product = 1;
  for (Axis inner : axes_) {
    if (inner == axis) break;
    product *= grid.extent(inner);
  }
  return product;
}

std::int64_t RankOrder::place(const ProcessGrid& grid, std::int64_t rank) const {
  const Coordinates coordinates = grid.coordinates(rank);
  std::int64_t place = 0;
  for (Axis axis : all_axes) {
    place += coordinates[static_cast<std::size_t>(axis)] * distance(grid, axis);
  }
  return place;
}

std::string RankOrder::str() const {
  std::string text;
  for (Axis axis : axes_) {
    if (!text.empty()) text += ',';
    text += name(axis);
  }
  return text;
}

}  // namespace fourfold::inline schedule::inline program
