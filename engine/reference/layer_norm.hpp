// Layer norm and RMS norm in the pieces that a cut along their columns leaves: sums over the local
// columns, which a small all-reduce completes, and maps that use them. Parameters: row 0 the scale,
// row 1 the offset. An RMS norm is a layer norm without means and offset: it has no sums, one row
// of parameters, and one column of backward's sums, the weighted ones.
#pragma once

#include <cmath>

#include "engine/reference/matrix.hpp"

namespace fourfold::inline engine::inline reference {

template <typename T>
void row_sum(View<const T> input, View<T> out) {
  for (std::int64_t r = 0; r < input.rows; ++r) {
    T sum{};
    for (std::int64_t c = 0; c < input.cols; ++c) sum += input(r, c);
    out(r, 0) = sum;
  }
}

// Squares of the distance to the mean, or to 0 without sums; `hidden` counts the columns of all
// devices, as below.
template <typename T>
void row_squares(View<const T> input, View<const T> sums, std::int64_t hidden, View<T> out) {
  for (std::int64_t r = 0; r < input.rows; ++r) {
    const T mean = sums.values == nullptr ? T{} : sums(r, 0) / static_cast<T>(hidden);
    T sum{};
    for (std::int64_t c = 0; c < input.cols; ++c) {
      sum += (input(r, c) - mean) * (input(r, c) - mean);
    }
    out(r, 0) = sum;
  }
}

// A norm's input with its completed row statistics.
template <typename T>
struct Normalised {
  View<const T> input, sums, squares;
  std::int64_t hidden = 0;
  double epsilon = 0.0;

  bool centred() const { return sums.values != nullptr; }
  // 1 / standard deviation of row r
  T scale(std::int64_t r) const {
    const T variance = squares(r, 0) / static_cast<T>(hidden);
    return T{1} / std::sqrt(variance + static_cast<T>(epsilon));
  }
  T operator()(std::int64_t r, std::int64_t c) const {
    const T mean = centred() ? sums(r, 0) / static_cast<T>(hidden) : T{};
    return (input(r, c) - mean) * scale(r);
  }
};

template <typename T>
void layer_norm(const Normalised<T>& x, View<const T> parameters, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      const T scaled = x(r, c) * parameters(0, c);
      out(r, c) = x.centred() ? scaled + parameters(1, c) : scaled;
    }
  }
}

// With g = gradient * scale: the last column is the row sum of g * normalised input, the one before
// that of g.
template <typename T>
void layer_norm_sums(View<const T> gradient, const Normalised<T>& x, View<const T> parameters,
                     View<T> out) {
  for (std::int64_t r = 0; r < gradient.rows; ++r) {
    T plain{};
    T weighted{};
    for (std::int64_t c = 0; c < gradient.cols; ++c) {
      const T g = gradient(r, c) * parameters(0, c);
      plain += g;
      weighted += g * x(r, c);
    }
    if (x.centred()) out(r, 0) = plain;
    out(r, out.cols - 1) = weighted;
  }
}

// Gradients of scale and offset, summed over the local rows.
template <typename T>
void layer_norm_parameters(View<const T> gradient, const Normalised<T>& x, View<T> out) {
  for (std::int64_t c = 0; c < gradient.cols; ++c) {
    T scale{};
    T offset{};
    for (std::int64_t r = 0; r < gradient.rows; ++r) {
      scale += gradient(r, c) * x(r, c);
      offset += gradient(r, c);
    }
    out(0, c) = scale;
    if (x.centred()) out(1, c) = offset;
  }
}

// dx = (g - mean(g) - x mean(g x)) / standard deviation, x the normalised input.
template <typename T>
void layer_norm_backward(View<const T> gradient, const Normalised<T>& x, View<const T> parameters,
                         View<const T> sums, View<T> out) {
  const T hidden = static_cast<T>(x.hidden);
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      const T g = gradient(r, c) * parameters(0, c);
      const T mean = x.centred() ? sums(r, 0) / hidden : T{};
      out(r, c) = (g - mean - x(r, c) * (sums(r, sums.cols - 1) / hidden)) * x.scale(r);
    }
  }
}

}  // namespace fourfold::inline engine::inline reference
