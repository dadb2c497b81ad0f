// A dense matrix as a value, row by row, views of one, and their products as three loops: the
// meaning of OpKind::gemm.
#pragma once
#include <cstdint>
#include <vector>

#include "schedule/program/program.hpp"

namespace fourfold::inline engine::inline reference {

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

}  // namespace fourfold::inline engine::inline reference

namespace fourfold::inline engine::inline reference {

// out = op(a) op(b); NT transposes b, TN transposes a. The contracted index runs upwards.
template <typename T>
void gemm(GemmForm form, View<const T> a, View<const T> b, View<T> out) {
  const std::int64_t inner = form == GemmForm::tn ? a.rows : a.cols;
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < out.cols; ++j) {
      T sum{};
      for (std::int64_t k = 0; k < inner; ++k) {
        sum +=
            (form == GemmForm::tn ? a(k, i) : a(i, k)) * (form == GemmForm::nt ? b(j, k) : b(k, j));
      }
      out(i, j) = sum;
    }
  }
}

}  // namespace fourfold::inline engine::inline reference
