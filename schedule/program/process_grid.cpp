// Rank arithmetic of the process grid; see process_grid.hpp.
#include "schedule/program/process_grid.hpp"

#include <stdexcept>

namespace fourfold {

const char* name(Axis axis) {
  constexpr std::array<const char*, axis_count> names{"x", "y", "z", "data"};
  return names[static_cast<int>(axis)];
}

ProcessGrid::ProcessGrid(std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t data)
    : extents_{x, y, z, data} {
  constexpr std::int64_t most_ranks = 1'000'000'000;
  std::int64_t ranks = 1;
  for (Axis axis : all_axes) {
    if (extent(axis) < 1) {
      throw std::invalid_argument("process grid: extent of axis " + std::string(name(axis)) +
                                  " is " + std::to_string(extent(axis)) +
                                  "; it must be at least 1");
    }
    if (extent(axis) > most_ranks / ranks) {
      throw std::invalid_argument("process grid: " + str() + " has more than " +
                                  std::to_string(most_ranks) + " ranks; no machine has so many");
    }
    ranks *= extent(axis);
  }
}

std::int64_t ProcessGrid::stride(Axis axis) const {
  std::int64_t product = 1;
  for (int inner = 0; inner < static_cast<int>(axis); ++inner) product *= extents_[inner];
  return product;
}

Coordinates ProcessGrid::coordinates(std::int64_t rank) const {
  Coordinates result{};
  for (std::size_t i = 0; i < axis_count; ++i) {
    result[i] = rank % extents_[i];
    rank /= extents_[i];
  }
  return result;
}

std::int64_t ProcessGrid::rank(const Coordinates& coordinates) const {
  std::int64_t result = 0;
  for (std::size_t i = axis_count; i-- > 0;) result = result * extents_[i] + coordinates[i];
  return result;
}

std::vector<std::int64_t> ProcessGrid::line(std::int64_t rank, Axis axis) const {
  const std::int64_t step = stride(axis);
  const std::int64_t first = rank - (rank / step % extent(axis)) * step;
  std::vector<std::int64_t> members(static_cast<std::size_t>(extent(axis)));
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i] = first + static_cast<std::int64_t>(i) * step;
  }
  return members;
}

std::string ProcessGrid::str() const {
  std::string text;
  for (Axis axis : all_axes) {
    if (axis != Axis::x) text += 'x';
    text += std::to_string(extent(axis));
  }
  return text;
}

ProcessGrid ProcessGrid::parse(const std::string& text) {
  std::array<std::int64_t, 4> extents{};
  std::size_t position = 0;
  int count = 0;
  while (count < 4 && position < text.size() && text[position] >= '0' && text[position] <= '9') {
    std::size_t used = 0;
    const std::string rest = text.substr(position, 18);
    extents[count++] = std::stoll(rest, &used);
    position += used;
    if (position < text.size() && text[position] == 'x' && count < 4) ++position;
  }
  if (count != 4 || position != text.size()) {
    throw std::invalid_argument("'" + text +
                                "' is no process grid: write four extents as XxYxZxDATA, "
                                "such as 8x4x16x64");
  }
  return ProcessGrid(extents[0], extents[1], extents[2], extents[3]);
}

}  // namespace fourfold
