// A dense matrix as a value, row by row, and views of one: what the kernels of the engine work on.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold {

// Does not own its values: those of a Matrix, or of a stretch of one (a member of a pack).
template <typename T>
struct View {
  T* values = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;

  std::int64_t size() const { return rows * cols; }
  T& operator()(std::int64_t row, std::int64_t col) const { return values[row * cols + col]; }
  T& operator[](std::int64_t i) const { return values[i]; }
};

// A global matrix, or one device's block of it. A value in flat pieces and a pack have one row.
template <typename T>
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<T> values;

  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c)
      : rows(r), cols(c), values(static_cast<std::size_t>(r * c), T{}) {}

  bool operator==(const Matrix&) const = default;
  T& operator()(std::int64_t row, std::int64_t col) {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
  const T& operator()(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
  View<T> view() { return {values.data(), rows, cols}; }
  View<const T> view() const { return {values.data(), rows, cols}; }
};

}  // namespace fourfold
