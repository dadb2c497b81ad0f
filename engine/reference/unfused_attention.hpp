// Causal attention step by step: products for every head of every sequence, and the softmax between
// them and its gradient. Heads lie as in attention.hpp; those of s x s numbers take s columns each.
#pragma once

#include <cmath>
#include <vector>

#include "engine/reference/attention.hpp"
#include "schedule/program/function.hpp"

namespace fourfold::inline engine::inline reference {

// A head's part of a block: its rows lie as far apart as the block's.
template <typename T>
struct PartOfHead {
  T* first = nullptr;
  std::int64_t stride = 0, cols = 0;
  T& operator()(std::int64_t row, std::int64_t col) const { return first[row * stride + col]; }
};

// Where parts of a head begin in the columns of a block, and how many they have.
struct HeadColumns {
  std::int64_t first = 0, count = 0;
};
inline HeadColumns head_columns(HeadPart part, std::int64_t head, AttentionSizes sizes) {
  const std::int64_t d = sizes.head_columns;
  switch (part) {
    case HeadPart::queries:
      return {sizes.first_column(head, 0), d};
    case HeadPart::keys:
      return {sizes.first_column(head, 1), d};
    case HeadPart::values:
      return {sizes.first_column(head, 2), d};
    case HeadPart::columns:
      return {head * d, d};
    case HeadPart::pairs:
      break;
  }
  return {head * sizes.sequence, sizes.sequence};
}

// The first row of one of the local sequences, and one of the local heads.
struct HeadOfSequence {
  std::int64_t first_row = 0, head = 0;
};

template <typename T>
PartOfHead<T> part_of_head(View<T> block, HeadPart part, HeadOfSequence of, AttentionSizes sizes) {
  const HeadColumns columns = head_columns(part, of.head, sizes);
  return {block.values + of.first_row * block.cols + columns.first, block.cols, columns.count};
}

// Heads of a block that has `part` of each.
inline std::int64_t heads_in(std::int64_t cols, HeadPart part, AttentionSizes sizes) {
  if (part == HeadPart::pairs) return cols / sizes.sequence;
  return part == HeadPart::columns ? cols / sizes.head_columns : sizes.heads_in(cols);
}

// Whether a product of this head adds to what the head before has left: keys and values are those
// of the whole group.
inline bool adds(HeadPart result, std::int64_t head, AttentionSizes sizes) {
  const bool shared = result == HeadPart::keys || result == HeadPart::values;
  return shared && head % sizes.group != 0;
}

// One of a function's products for every head of every sequence.
template <typename T>
void multiply_heads(const HeadProduct& product, const std::vector<View<const T>>& inputs,
                    AttentionSizes sizes, View<T> out) {
  const View<const T>& left = inputs[product.a.number];
  const View<const T>& right = inputs[product.b.number];
  const bool tn = product.form == GemmForm::tn;
  const bool nt = product.form == GemmForm::nt;
  for (std::int64_t row = 0; row < out.rows; row += sizes.sequence) {
    for (std::int64_t i = 0; i < heads_in(out.cols, product.result, sizes); ++i) {
      const auto a = part_of_head(left, product.a.part, {row, i}, sizes);
      const auto b = part_of_head(right, product.b.part, {row, i}, sizes);
      const auto c = part_of_head(out, product.result, {row, i}, sizes);
      const std::int64_t inner = tn ? sizes.sequence : a.cols;
      for (std::int64_t t = 0; t < sizes.sequence; ++t) {
        for (std::int64_t u = 0; u < c.cols; ++u) {
          T sum = adds(product.result, i, sizes) ? c(t, u) : T{};
          for (std::int64_t k = 0; k < inner; ++k) {
            sum += (tn ? a(k, t) : a(t, k)) * (nt ? b(u, k) : b(k, u));
          }
          c(t, u) = sum;
        }
      }
    }
  }
}

// Calls `visit` with every head's row of s numbers, by where it begins, and how many of them the
// mask leaves.
template <typename T, typename Visit>
void for_each_pair_row(View<T> pairs, std::int64_t sequence, const Visit& visit) {
  for (std::int64_t r = 0; r < pairs.rows; ++r) {
    for (std::int64_t c = 0; c < pairs.cols; c += sequence) {
      visit(r * pairs.cols + c, r % sequence + 1);
    }
  }
}

// softmax(scores / sqrt(d)) over what the mask leaves; the rest is zero. `out` may be the scores.
template <typename T>
void causal_softmax(View<const T> scores, AttentionSizes sizes, View<T> out) {
  const T scale = T{1} / std::sqrt(static_cast<T>(sizes.head_columns));
  for_each_pair_row(out, sizes.sequence, [&](std::int64_t row, std::int64_t visible) {
    T highest = -INFINITY;
    const std::int64_t first = sizes.first_seen(visible - 1);
    for (std::int64_t u = first; u < visible; ++u) {
      out[row + u] = scores[row + u] * scale;
      highest = std::max(highest, out[row + u]);
    }
    T sum{};
    for (std::int64_t u = first; u < visible; ++u) {
      sum += out[row + u] = std::exp(out[row + u] - highest);
    }
    for (std::int64_t u = first; u < visible; ++u) out[row + u] /= sum;
    for (std::int64_t u = 0; u < first; ++u) out[row + u] = T{};
    for (std::int64_t u = visible; u < sizes.sequence; ++u) out[row + u] = T{};
  });
}

// With probabilities w and their gradient g: w_u (g_u - sum_v w_v g_v) / sqrt(d). `out` may be
// either.
template <typename T>
void causal_softmax_backward(View<const T> gradient, View<const T> probabilities,
                             AttentionSizes sizes, View<T> out) {
  const T scale = T{1} / std::sqrt(static_cast<T>(sizes.head_columns));
  for_each_pair_row(out, sizes.sequence, [&](std::int64_t row, std::int64_t visible) {
    T centre{};
    for (std::int64_t u = 0; u < visible; ++u) centre += probabilities[row + u] * gradient[row + u];
    for (std::int64_t u = 0; u < visible; ++u) {
      out[row + u] = probabilities[row + u] * (gradient[row + u] - centre) * scale;
    }
    for (std::int64_t u = visible; u < sizes.sequence; ++u) out[row + u] = T{};
  });
}

}  // namespace fourfold::inline engine::inline reference
