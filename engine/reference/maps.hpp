// Element by element: biases, residuals, GELU, SwiGLU, positions; and the sums that are their
// gradients.
#pragma once

#include <cmath>
#include <vector>

#include "engine/reference/matrix.hpp"

namespace fourfold::inline engine::inline reference {

// GPT-2's GELU, the tanh form: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
template <typename T>
T gelu(T x) {
  const T slope = static_cast<T>(0.79788456080286535588);  // sqrt(2/pi)
  return x / 2 * (1 + std::tanh(slope * (x + static_cast<T>(0.044715) * x * x * x)));
}

template <typename T>
T gelu_derivative(T x) {
  const T slope = static_cast<T>(0.79788456080286535588);
  const T cubic = static_cast<T>(0.044715);
  const T t = std::tanh(slope * (x + cubic * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * slope * (1 + 3 * cubic * x * x);
}

template <typename T>
void add_bias(View<const T> input, View<const T> bias, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) out(r, c) = input(r, c) + bias(0, c);
  }
}

// 0 where there is none.
template <typename T>
T bias_of(View<const T> bias, std::int64_t c) {
  return bias.values == nullptr ? T{} : bias(0, c);
}

template <typename T>
void bias_gelu(View<const T> input, View<const T> bias, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) out(r, c) = gelu(input(r, c) + bias_of(bias, c));
  }
}

template <typename T>
void gelu_backward(View<const T> gradient, View<const T> input, View<const T> bias, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      out(r, c) = gradient(r, c) * gelu_derivative(input(r, c) + bias_of(bias, c));
    }
  }
}

template <typename T>
T logistic(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

// a logistic(a) b of columns 2i and 2i + 1.
template <typename T>
void swiglu(View<const T> input, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      const T a = input(r, 2 * c);
      out(r, c) = a * logistic(a) * input(r, 2 * c + 1);
    }
  }
}

// With s = logistic(a): g b (s + a s (1 - s)) of a, g a s of b.
template <typename T>
void swiglu_backward(View<const T> gradient, View<const T> input, View<T> out) {
  for (std::int64_t r = 0; r < gradient.rows; ++r) {
    for (std::int64_t c = 0; c < gradient.cols; ++c) {
      const T g = gradient(r, c), a = input(r, 2 * c), b = input(r, 2 * c + 1);
      const T s = logistic(a);
      out(r, 2 * c) = g * b * (s + a * s * (1 - s));
      out(r, 2 * c + 1) = g * a * s;
    }
  }
}

template <typename T>
void bias_residual(View<const T> input, View<const T> bias, View<const T> residual, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      out(r, c) = input(r, c) + bias(0, c) + residual(r, c);
    }
  }
}

// Row r is row first + r of all, and stands at position (first + r) mod sequence: the table has
// that many rows.
template <typename T>
void add_position(View<const T> input, View<const T> positions, std::int64_t first, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      out(r, c) = input(r, c) + positions((first + r) % positions.rows, c);
    }
  }
}

template <typename T>
void position_sum(View<const T> gradient, std::int64_t first, View<T> out) {
  for (std::int64_t i = 0; i < out.size(); ++i) out[i] = T{};
  for (std::int64_t r = 0; r < gradient.rows; ++r) {
    const std::int64_t position = (first + r) % out.rows;
    for (std::int64_t c = 0; c < gradient.cols; ++c) out(position, c) += gradient(r, c);
  }
}

template <typename T>
void col_sum(View<const T> input, View<T> out) {
  for (std::int64_t c = 0; c < input.cols; ++c) {
    T sum{};
    for (std::int64_t r = 0; r < input.rows; ++r) sum += input(r, c);
    out(0, c) = sum;
  }
}

template <typename T>
void sum_of_all(View<const T> input, View<T> out) {
  T sum{};
  for (std::int64_t i = 0; i < input.size(); ++i) sum += input[i];
  out[0] = sum;
}

// Padding is zero and so adds nothing.
template <typename T>
void square_sum(View<const T> input, View<T> out) {
  T sum{};
  for (std::int64_t i = 0; i < input.size(); ++i) sum += input[i] * input[i];
  out[0] = sum;
}

template <typename T>
void copy(View<const T> input, View<T> out) {
  for (std::int64_t i = 0; i < out.size(); ++i) out[i] = input[i];
}

template <typename T>
void add(const std::vector<View<const T>>& inputs, View<T> out) {
  for (std::int64_t i = 0; i < out.size(); ++i) {
    T sum = inputs[0][i];
    for (std::size_t k = 1; k < inputs.size(); ++k) sum += inputs[k][i];
    out[i] = sum;
  }
}

}  // namespace fourfold::inline engine::inline reference
