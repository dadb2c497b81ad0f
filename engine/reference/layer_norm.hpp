// Layer norm in the pieces that a cut along its columns leaves: sums over the local columns, which
// a small all-reduce completes, and maps that use them. Parameters: row 0 the scale, row 1 the
// offset.
#pragma once

#include <cmath>

#include "engine/reference/matrix.hpp"

namespace fourfold::reference {

inline constexpr double layer_norm_epsilon = 1e-5;  // GPT-2's

template <typename T>
void row_sum(View<const T> input, View<T> out) {
  for (std::int64_t r = 0; r < input.rows; ++r) {
    T sum{};
    for (std::int64_t c = 0; c < input.cols; ++c) sum += input(r, c);
    out(r, 0) = sum;
  }
}

// Squares of the distance to the mean; `hidden` counts the columns of all devices, as below.
template <typename T>
void row_squares(View<const T> input, View<const T> sums, std::int64_t hidden, View<T> out) {
  for (std::int64_t r = 0; r < input.rows; ++r) {
    const T mean = sums(r, 0) / static_cast<T>(hidden);
    T sum{};
    for (std::int64_t c = 0; c < input.cols; ++c) {
      sum += (input(r, c) - mean) * (input(r, c) - mean);
    }
    out(r, 0) = sum;
  }
}

// A layer norm's input with its completed row statistics.
template <typename T>
struct Normalised {
  View<const T> input, sums, squares;
  std::int64_t hidden = 0;

  // 1 / standard deviation of row r
  T scale(std::int64_t r) const {
    const T variance = squares(r, 0) / static_cast<T>(hidden);
    return T{1} / std::sqrt(variance + static_cast<T>(layer_norm_epsilon));
  }
  T operator()(std::int64_t r, std::int64_t c) const {
    return (input(r, c) - sums(r, 0) / static_cast<T>(hidden)) * scale(r);
  }
};

template <typename T>
void layer_norm(const Normalised<T>& x, View<const T> parameters, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      out(r, c) = x(r, c) * parameters(0, c) + parameters(1, c);
    }
  }
}

// With g = gradient * scale: column 0 is the row sum of g, column 1 that of g * normalised input.
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
    out(r, 0) = plain;
    out(r, 1) = weighted;
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
    out(1, c) = offset;
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
      out(r, c) = (g - sums(r, 0) / hidden - x(r, c) * (sums(r, 1) / hidden)) * x.scale(r);
    }
  }
}

}  // namespace fourfold::reference
