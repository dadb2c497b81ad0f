// Element by element between global matrices and blocks; see scatter.hpp.
#include "engine/reference/scatter.hpp"

#include <stdexcept>
#include <string>

namespace fourfold::inline engine::inline reference {

template <typename T>
Matrix<T> scatter(const Shape& shape, const ProcessGrid& grid, std::int64_t rank,
                  const std::function<T(std::int64_t, std::int64_t)>& element) {
  const BlockPlace place = block_place(shape, grid, rank);
  const bool flat = !shape.sharding.pieces.empty();
  Matrix<T> block =
      flat ? Matrix<T>(1, place.elements) : Matrix<T>(place.rows.extent, place.cols.extent);
  for (std::int64_t i = 0; i < place.elements; ++i) {
    const auto where = place.global(i);
    if (where) block.values[static_cast<std::size_t>(i)] = element(where->first, where->second);
  }
  return block;
}

template <typename T>
Matrix<T> scatter(const Shape& shape, const ProcessGrid& grid, std::int64_t rank,
                  const Matrix<T>& global) {
  if (Extent(global.rows) != shape.rows || Extent(global.cols) != shape.cols) {
    throw std::invalid_argument("scatter: the matrix is " + std::to_string(global.rows) + " x " +
                                std::to_string(global.cols) + ", its shape says " +
                                shape.rows.str() + " x " + shape.cols.str());
  }
  const std::function<T(std::int64_t, std::int64_t)> element =
      [&global](std::int64_t row, std::int64_t col) { return global(row, col); };
  return scatter(shape, grid, rank, element);
}

template <typename T>
Matrix<T> gather(const Shape& shape, const ProcessGrid& grid,
                 const std::vector<Matrix<T>>& blocks) {
  Matrix<T> global(shape.rows.value({}), shape.cols.value({}));
  std::vector<bool> seen(global.values.size(), false);
  for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
    const BlockPlace place = block_place(shape, grid, rank);
    const Matrix<T>& block = blocks.at(static_cast<std::size_t>(rank));
    for (std::int64_t i = 0; i < place.elements; ++i) {
      const T value = block.values.at(static_cast<std::size_t>(i));
      const auto where = place.global(i);
      if (!where) {
        if (value != T{}) {
          throw std::logic_error("gather: padding of rank " + std::to_string(rank) +
                                 " is not zero");
        }
        continue;
      }
      const auto index = static_cast<std::size_t>(where->first * global.cols + where->second);
      if (seen[index] && global.values[index] != value) {
        throw std::logic_error("gather: rank " + std::to_string(rank) +
                               " holds another value than a replica of it");
      }
      global.values[index] = value;
      seen[index] = true;
    }
  }
  return global;
}

template Matrix<float> scatter(const Shape&, const ProcessGrid&, std::int64_t,
                               const std::function<float(std::int64_t, std::int64_t)>&);
template Matrix<double> scatter(const Shape&, const ProcessGrid&, std::int64_t,
                                const std::function<double(std::int64_t, std::int64_t)>&);
template Matrix<float> scatter(const Shape&, const ProcessGrid&, std::int64_t,
                               const Matrix<float>&);
template Matrix<double> scatter(const Shape&, const ProcessGrid&, std::int64_t,
                                const Matrix<double>&);
template Matrix<float> gather(const Shape&, const ProcessGrid&, const std::vector<Matrix<float>>&);
template Matrix<double> gather(const Shape&, const ProcessGrid&,
                               const std::vector<Matrix<double>>&);

}  // namespace fourfold::inline engine::inline reference
