// Keys and values of the tokens that were read, and attention of the newest token of each sequence
// to them: the meaning of functions::keep_keys_and_values and attention_to_cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/reference/attention.hpp"

namespace fourfold::inline engine::inline reference {

// How a cache lies (functions::keep_keys_and_values): `tokens` rows a sequence, token t in row t
// modulo their number, and of each group of heads the columns of its key, then those of its value.
struct CacheSizes {
  AttentionSizes attention;
  std::int64_t tokens = 0;

  std::int64_t row(std::int64_t sequence, std::int64_t t) const {
    return sequence * tokens + t % tokens;
  }
  std::int64_t group_columns() const { return 2 * attention.head_columns; }
  // Where the key of a group begins in a row of QKV; its value stands behind it.
  std::int64_t of_qkv(std::int64_t group) const {
    return group * attention.group_columns() + attention.group * attention.head_columns;
  }
  std::int64_t groups_in(std::int64_t qkv_cols) const {
    return qkv_cols / attention.group_columns();
  }
  // Of so many tokens, the first that is kept.
  std::int64_t first_kept(std::int64_t length) const {
    return std::max<std::int64_t>(0, length - tokens);
  }
};

// A row of QKV, of token t.
struct RowToKeep {
  std::int64_t row = 0, sequence = 0, t = 0;
};

template <typename T>
void keep_row(View<const T> qkv, const RowToKeep& from, const CacheSizes& sizes, View<T> cache) {
  for (std::int64_t g = 0; g < sizes.groups_in(qkv.cols); ++g) {
    for (std::int64_t c = 0; c < sizes.group_columns(); ++c) {
      cache(sizes.row(from.sequence, from.t), g * sizes.group_columns() + c) =
          qkv(from.row, sizes.of_qkv(g) + c);
    }
  }
}

// Of sequences of which `length` tokens are there.
template <typename T>
void keep_keys_and_values(View<const T> qkv, const CacheSizes& sizes, std::int64_t length,
                          View<T> cache) {
  const std::int64_t rows = sizes.attention.sequence;
  for (std::int64_t sequence = 0; sequence < qkv.rows / rows; ++sequence) {
    for (std::int64_t t = sizes.first_kept(length); t < length; ++t) {
      keep_row(qkv, {sequence * rows + t, sequence, t}, sizes, cache);
    }
  }
}

// One row of QKV a sequence, its newest of `length` tokens, which joins the cache.
template <typename T>
void attention_to_cache(View<const T> qkv, const CacheSizes& sizes, std::int64_t length,
                        View<T> cache, View<T> out) {
  const AttentionSizes& of = sizes.attention;
  const std::int64_t newest = length - 1, first = of.first_seen(newest), d = of.head_columns;
  const T scale = T{1} / std::sqrt(static_cast<T>(d));
  std::vector<T> weights(static_cast<std::size_t>(length - first));
  for (std::int64_t sequence = 0; sequence < qkv.rows; ++sequence) {
    keep_row(qkv, {sequence, sequence, newest}, sizes, cache);
    for (std::int64_t head = 0; head < of.heads_in(qkv.cols); ++head) {
      const std::int64_t key = head / of.group * sizes.group_columns(), value = key + d;
      T highest{}, sum{};
      for (std::int64_t t = first; t < length; ++t) {
        T score{};
        for (std::int64_t c = 0; c < d; ++c) {
          score +=
              qkv(sequence, of.first_column(head, 0) + c) * cache(sizes.row(sequence, t), key + c);
        }
        weights[static_cast<std::size_t>(t - first)] = score * scale;
        highest = t == first ? score * scale : std::max(highest, score * scale);
      }
      for (T& weight : weights) sum += weight = std::exp(weight - highest);
      for (std::int64_t c = 0; c < d; ++c) {
        T& result = out(sequence, head * d + c) = T{};
        for (std::int64_t t = first; t < length; ++t) {
          result += weights[static_cast<std::size_t>(t - first)] / sum *
                    cache(sizes.row(sequence, t), value + c);
        }
      }
    }
  }
}

// The newest of `length` tokens of each sequence.
template <typename T>
void last_of_sequence(View<const T> tokens, std::int64_t sequence, std::int64_t length,
                      View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    for (std::int64_t c = 0; c < out.cols; ++c) out(r, c) = tokens(r * sequence + length - 1, c);
  }
}

}  // namespace fourfold::inline engine::inline reference
