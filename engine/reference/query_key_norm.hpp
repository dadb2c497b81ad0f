// RMS norms of the queries and keys of a QKV block; values stay. Columns lie as in attention.hpp.
// Of norms over all heads, tokens have completed sums of queries and of keys (two columns), and
// scales stand group by group, those of its queries, then of its key; of norms by head there are no
// sums, and scales are a head's for queries, then a head's for keys.
#pragma once

#include <cmath>

#include "engine/reference/attention.hpp"

namespace fourfold::inline engine::inline reference {

template <typename T>
struct QueriesAndKeys {
  View<const T> qkv, squares;  // squares: over all heads
  AttentionSizes sizes;
  std::int64_t heads = 0;  // of queries, on all devices
  double epsilon = 0.0;

  bool by_head() const { return squares.values == nullptr; }
  // 0: queries, 1: keys, 2: values
  std::int64_t part(std::int64_t c) const {
    const std::int64_t head = c % sizes.group_columns() / sizes.head_columns;
    return std::max<std::int64_t>(0, head - sizes.group + 1);
  }
  std::int64_t scale_of(std::int64_t c) const {
    const std::int64_t group = sizes.group_columns(), d = sizes.head_columns;
    return by_head() ? part(c) * d + c % d : c / group * (group - d) + c % group;
  }
  // Columns that are normalised together with column c.
  std::int64_t columns(std::int64_t c) const {
    if (by_head()) return sizes.head_columns;
    return (part(c) == 0 ? heads : heads / sizes.group) * sizes.head_columns;
  }
  // Sum of `number` over the columns of c's head.
  template <typename Number>
  T over_head(std::int64_t c, const Number& number) const {
    const std::int64_t first = c - c % sizes.head_columns;
    T sum{};
    for (std::int64_t i = first; i < first + sizes.head_columns; ++i) sum += number(i);
    return sum;
  }
  // 1 / root of the mean square.
  T factor(std::int64_t r, std::int64_t c) const {
    const T sum = by_head() ? over_head(c, [&](std::int64_t i) { return qkv(r, i) * qkv(r, i); })
                            : squares(r, part(c));
    return T{1} / std::sqrt(sum / static_cast<T>(columns(c)) + static_cast<T>(epsilon));
  }
  T operator()(std::int64_t r, std::int64_t c) const { return qkv(r, c) * factor(r, c); }

  // Calls `visit` with the columns of queries and keys.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (std::int64_t c = 0; c < qkv.cols; ++c) {
      if (part(c) < 2) visit(c);
    }
  }
};

template <typename T>
void qk_squares(const QueriesAndKeys<T>& x, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    out(r, 0) = out(r, 1) = T{};
    x.each([&](std::int64_t c) { out(r, x.part(c)) += x.qkv(r, c) * x.qkv(r, c); });
  }
}

template <typename T>
void qk_norm(const QueriesAndKeys<T>& x, View<const T> scales, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      out(r, c) = x.part(c) == 2 ? x.qkv(r, c) : x(r, c) * scales(0, x.scale_of(c));
    }
  }
}

// Sums of gradient x scale x normalised input, of queries and of keys.
template <typename T>
void qk_norm_sums(View<const T> gradient, const QueriesAndKeys<T>& x, View<const T> scales,
                  View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    out(r, 0) = out(r, 1) = T{};
    x.each([&](std::int64_t c) {
      out(r, x.part(c)) += gradient(r, c) * scales(0, x.scale_of(c)) * x(r, c);
    });
  }
}

template <typename T>
void qk_norm_parameters(View<const T> gradient, const QueriesAndKeys<T>& x, View<T> out) {
  for (std::int64_t i = 0; i < out.size(); ++i) out[i] = T{};
  for (std::int64_t r = 0; r < gradient.rows; ++r) {
    x.each([&](std::int64_t c) { out(0, x.scale_of(c)) += gradient(r, c) * x(r, c); });
  }
}

// dx = (g - x mean(g x)) / root of the mean square, g = gradient x scale, x the normalised input.
template <typename T>
void qk_norm_backward(View<const T> gradient, const QueriesAndKeys<T>& x, View<const T> scales,
                      View<const T> sums, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) {
      if (x.part(c) == 2) {
        out(r, c) = gradient(r, c);
        continue;
      }
      const auto g = [&](std::int64_t i) { return gradient(r, i) * scales(0, x.scale_of(i)); };
      const T sum = x.by_head() ? x.over_head(c, [&](std::int64_t i) { return g(i) * x(r, i); })
                                : sums(r, x.part(c));
      out(r, c) = (g(c) - x(r, c) * (sum / static_cast<T>(x.columns(c)))) * x.factor(r, c);
    }
  }
}

}  // namespace fourfold::inline engine::inline reference
