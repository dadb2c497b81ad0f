// Sums, maxima and concatenations over lines; see lockstep_collectives.hpp.
#include "engine/lockstep_collectives.hpp"

#include <algorithm>

namespace fourfold {

namespace {

// The whole sum or maximum over one line, in order of its members.
template <typename T>
std::vector<T> reduced(const std::vector<Matrix<T>>& input, const std::vector<std::int64_t>& line,
                       Owed owed) {
  std::vector<T> result = input[static_cast<std::size_t>(line[0])].values;
  for (std::size_t member = 1; member < line.size(); ++member) {
    const std::vector<T>& other = input[static_cast<std::size_t>(line[member])].values;
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = owed == Owed::sum ? result[i] + other[i] : std::max(result[i], other[i]);
    }
  }
  return result;
}

// Calls `visit(line)` once for each line of the grid along `axis`.
template <typename Visit>
void for_each_line(const ProcessGrid& grid, Axis axis, const Visit& visit) {
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    const std::vector<std::int64_t> line = grid.line(rank, axis);
    if (line.front() == rank) visit(line);
  }
}

}  // namespace

template <typename T>
void LineCollective<T>::all_reduce(Owed owed) const {
  for_each_line(*grid, axis, [&](const std::vector<std::int64_t>& line) {
    const std::vector<T> sum = reduced(*input, line, owed);
    for (std::int64_t rank : line) (*output)[static_cast<std::size_t>(rank)].values = sum;
  });
}

template <typename T>
void LineCollective<T>::all_gather() const {
  for_each_line(*grid, axis, [&](const std::vector<std::int64_t>& line) {
    std::vector<T> whole;
    for (std::int64_t rank : line) {
      const std::vector<T>& piece = (*input)[static_cast<std::size_t>(rank)].values;
      whole.insert(whole.end(), piece.begin(), piece.end());
    }
    for (std::int64_t rank : line) {
      std::vector<T>& out = (*output)[static_cast<std::size_t>(rank)].values;
      std::copy_n(whole.begin(), out.size(), out.begin());
    }
  });
}

template <typename T>
void LineCollective<T>::reduce_scatter() const {
  for_each_line(*grid, axis, [&](const std::vector<std::int64_t>& line) {
    std::vector<T> sum = reduced(*input, line, Owed::sum);
    const std::size_t piece = (*output)[static_cast<std::size_t>(line[0])].values.size();
    sum.resize(piece * line.size());
    for (std::size_t member = 0; member < line.size(); ++member) {
      std::copy_n(sum.begin() + static_cast<std::ptrdiff_t>(member * piece), piece,
                  (*output)[static_cast<std::size_t>(line[member])].values.begin());
    }
  });
}

template struct LineCollective<float>;
template struct LineCollective<double>;

}  // namespace fourfold
