// Kernels that know the vocabulary: lookup in a table whose rows are cut, and softmax cross-entropy
// over logits whose columns are cut. `part` is the device's share; its padding is no word, so it
// adds nothing to a maximum or a sum and gets no gradient. A target that is left out
// (ignored_target) is known by a sum of exponentials of zero, which no other can have: its loss is
// zero, and so is its gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "engine/plan/block_place.hpp"
#include "engine/reference/matrix.hpp"
#include "engine/words.hpp"

namespace fourfold::inline engine::inline reference {

using Tokens = std::span<const std::int32_t>;

// A token's row where this device holds it, zeros elsewhere: the sum over devices is the row.
template <typename T>
void lookup_forward(View<const T> table, Tokens tokens, Part part, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    const std::int64_t word = tokens[static_cast<std::size_t>(r)];
    for (std::int64_t c = 0; c < out.cols; ++c) {
      out(r, c) = part.holds(word) ? table(word - part.first, c) : T{};
    }
  }
}

template <typename T>
void lookup_backward(View<const T> gradient, Tokens tokens, Part part, View<T> out) {
  for (std::int64_t i = 0; i < out.size(); ++i) out[i] = T{};
  for (std::int64_t r = 0; r < gradient.rows; ++r) {
    const std::int64_t word = tokens[static_cast<std::size_t>(r)];
    if (!part.holds(word)) continue;
    for (std::int64_t c = 0; c < gradient.cols; ++c) out(word - part.first, c) += gradient(r, c);
  }
}

// Minus infinity where a device holds padding only.
template <typename T>
void row_max(View<const T> logits, Part part, View<T> out) {
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    T highest = -INFINITY;
    for (std::int64_t c = 0; c < part.valid; ++c) highest = std::max(highest, logits(r, c));
    out(r, 0) = highest;
  }
}

// Column 0: the sum of exp(logit - max). Column 1: the target's logit, zero where it is elsewhere.
template <typename T>
void row_exp_and_target(View<const T> logits, View<const T> maxima, Tokens targets, Part part,
                        View<T> out) {
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    const std::int64_t target = targets[static_cast<std::size_t>(r)];
    out(r, 0) = out(r, 1) = T{};
    if (target == ignored_target) continue;
    T sum{};
    for (std::int64_t c = 0; c < part.valid; ++c) sum += std::exp(logits(r, c) - maxima(r, 0));
    out(r, 0) = sum;
    out(r, 1) = part.holds(target) ? logits(r, target - part.first) : T{};
  }
}

// -log softmax of the target.
template <typename T>
void softmax_loss(View<const T> maxima, View<const T> sums, View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    out(r, 0) = sums(r, 0) == T{} ? T{} : maxima(r, 0) + std::log(sums(r, 0)) - sums(r, 1);
  }
}

// Logits with their completed row statistics.
template <typename T>
struct Softmax {
  View<const T> logits, maxima, sums;
};

// Gradient of the mean loss over `count` targets: those of the step that count, on all devices.
template <typename T>
void softmax_backward(const Softmax<T>& softmax, Tokens targets, Part part, std::int64_t count,
                      View<T> out) {
  for (std::int64_t r = 0; r < out.rows; ++r) {
    const std::int64_t target = targets[static_cast<std::size_t>(r)];
    for (std::int64_t c = 0; c < out.cols; ++c) {
      const bool is_target = part.first + c == target;
      const T probability =
          std::exp(softmax.logits(r, c) - softmax.maxima(r, 0)) / softmax.sums(r, 0);
      out(r, c) = c < part.valid && target != ignored_target
                      ? (probability - (is_target ? T{1} : T{})) / static_cast<T>(count)
                      : T{};
    }
  }
}

}  // namespace fourfold::inline engine::inline reference
