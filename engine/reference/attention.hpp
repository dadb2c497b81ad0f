// Causal attention over whole sequences and whole heads: the meaning of functions::attention.
//
// Columns of a QKV block are grouped, so that cutting them cuts whole groups of heads: with d
// columns a head and g heads a group, d columns of queries for each head, then d of the keys that
// they share, then d of values. The output of head i takes columns [di, di+d).
#pragma once

#include <cmath>
#include <vector>

#include "engine/reference/matrix.hpp"

namespace fourfold::inline engine::inline reference {

struct AttentionSizes {
  std::int64_t sequence = 0;      // tokens of a sequence
  std::int64_t head_columns = 0;  // d
  std::int64_t group = 1;         // g
  std::int64_t window = 0;        // tokens that one looks at; 0: all before it

  // The first token that token t looks at.
  std::int64_t first_seen(std::int64_t t) const {
    return window == 0 || t < window ? 0 : t + 1 - window;
  }
  std::int64_t group_columns() const { return (group + 2) * head_columns; }
  // Heads of queries in so many columns of QKV.
  std::int64_t heads_in(std::int64_t cols) const { return cols / group_columns() * group; }
  // Where a head's queries begin (0), or the keys (1) or values (2) that it reads.
  std::int64_t first_column(std::int64_t head, int which) const {
    const std::int64_t within = which == 0 ? head % group : group + which - 1;
    return head / group * group_columns() + within * head_columns;
  }
};

// Where one head of one sequence lies.
template <typename T>
struct Head {
  View<const T> qkv;
  std::int64_t first_row = 0;
  std::int64_t index = 0;
  AttentionSizes sizes;

  T query(std::int64_t t, std::int64_t c) const { return at(t, 0, c); }
  T key(std::int64_t t, std::int64_t c) const { return at(t, 1, c); }
  T value(std::int64_t t, std::int64_t c) const { return at(t, 2, c); }
  std::int64_t output_column(std::int64_t c) const { return index * sizes.head_columns + c; }
  std::int64_t qkv_column(int which, std::int64_t c) const {
    return sizes.first_column(index, which) + c;
  }
  T scale() const { return T{1} / std::sqrt(static_cast<T>(sizes.head_columns)); }

  // softmax(q_t . k_u / sqrt(d)) over first_seen(t) <= u <= t; 0 before.
  std::vector<T> weights(std::int64_t t) const {
    std::vector<T> result(static_cast<std::size_t>(t + 1));
    T highest = -INFINITY;
    const std::int64_t first = sizes.first_seen(t);
    for (std::int64_t u = first; u <= t; ++u) {
      T score{};
      for (std::int64_t c = 0; c < sizes.head_columns; ++c) score += query(t, c) * key(u, c);
      result[static_cast<std::size_t>(u)] = score * scale();
      highest = std::max(highest, score * scale());
    }
    T sum{};
    for (std::size_t u = static_cast<std::size_t>(first); u < result.size(); ++u) {
      sum += result[u] = std::exp(result[u] - highest);
    }
    for (T& weight : result) weight /= sum;
    return result;
  }

 private:
  T at(std::int64_t t, int which, std::int64_t c) const {
    return qkv(first_row + t, qkv_column(which, c));
  }
};

// Calls `visit` for every head of every sequence in the local block.
template <typename T, typename Visit>
void for_each_head(View<const T> qkv, AttentionSizes sizes, const Visit& visit) {
  const std::int64_t heads = sizes.heads_in(qkv.cols);
  for (std::int64_t row = 0; row < qkv.rows; row += sizes.sequence) {
    for (std::int64_t i = 0; i < heads; ++i) visit(Head<T>{qkv, row, i, sizes});
  }
}

template <typename T>
void attention_forward(View<const T> qkv, AttentionSizes sizes, View<T> out) {
  for_each_head(qkv, sizes, [&](const Head<T>& head) {
    for (std::int64_t t = 0; t < sizes.sequence; ++t) {
      const std::vector<T> weights = head.weights(t);
      for (std::int64_t c = 0; c < sizes.head_columns; ++c) {
        T sum{};
        for (std::int64_t u = 0; u <= t; ++u) {
          sum += weights[static_cast<std::size_t>(u)] * head.value(u, c);
        }
        out(head.first_row + t, head.output_column(c)) = sum;
      }
    }
  });
}

// Gradient of the QKV block. With weights w and gradient g of the output o:
// dv_u = sum_t w_tu g_t;  ds_tu = w_tu (g_t . v_u - g_t . o_t);  dq_t = sum_u ds_tu k_u / sqrt(d).
template <typename T>
void attention_backward(View<const T> gradient, View<const T> qkv, View<const T> output,
                        AttentionSizes sizes, View<T> out) {
  for (std::int64_t i = 0; i < out.size(); ++i) out[i] = T{};
  for_each_head(qkv, sizes, [&](const Head<T>& head) {
    const auto result = [&](std::int64_t t, int which, std::int64_t c) -> T& {
      return out(head.first_row + t, head.qkv_column(which, c));
    };
    for (std::int64_t t = 0; t < sizes.sequence; ++t) {
      const std::vector<T> weights = head.weights(t);
      const auto g = [&](std::int64_t c) {
        return gradient(head.first_row + t, head.output_column(c));
      };
      T with_output{};
      for (std::int64_t c = 0; c < sizes.head_columns; ++c) {
        with_output += g(c) * output(head.first_row + t, head.output_column(c));
      }
      for (std::int64_t u = 0; u <= t; ++u) {
        const T weight = weights[static_cast<std::size_t>(u)];
        T with_value{};
        for (std::int64_t c = 0; c < sizes.head_columns; ++c) with_value += g(c) * head.value(u, c);
        const T score = weight * (with_value - with_output) * head.scale();
        for (std::int64_t c = 0; c < sizes.head_columns; ++c) {
          result(t, 0, c) += score * head.key(u, c);
          result(u, 1, c) += score * head.query(t, c);
          result(u, 2, c) += weight * g(c);
        }
      }
    }
  });
}

}  // namespace fourfold::inline engine::inline reference
