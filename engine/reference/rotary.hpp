// Rotary positions: queries and keys of every head turned by angles that grow with the position.
// Column i of the first half of a head turns with column i of the second, as in Hugging Face's
// models.
#pragma once

#include <cmath>
#include <numbers>

#include "engine/reference/attention.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline engine::inline reference {

// Radians a token of columns i and i + d/2 of a head of d, scaled as Llama 3.1's are.
inline double rotary_frequency(const Rotary& rotary, std::int64_t columns, std::int64_t i) {
  const double power = 2.0 * static_cast<double>(i) / static_cast<double>(columns);
  const double plain = std::pow(rotary.base, -power);
  if (rotary.scaling == 1.0) return plain;
  const double turns = static_cast<double>(rotary.trained_tokens) * plain / (2 * std::numbers::pi);
  if (turns > rotary.high) return plain;
  if (turns < rotary.low) return plain / rotary.scaling;
  const double kept = (turns - rotary.low) / (rotary.high - rotary.low);
  return (1 - kept) * plain / rotary.scaling + kept * plain;
}

struct Turning {
  const Rotary& rotary;
  double direction = 1.0;  // -1: back
};

template <typename T>
struct HeadsToTurn {
  View<const T> qkv;
  AttentionSizes sizes;
  std::int64_t place = -1;  // of every row; -1: rows are whole sequences
};

// `out` may be the block itself. Values stay.
template <typename T>
void rotary(const HeadsToTurn<T>& heads, const Turning& turning, View<T> out) {
  const auto& [qkv, sizes, place] = heads;
  const std::int64_t d = sizes.head_columns, half = d / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const double frequency = turning.direction * rotary_frequency(turning.rotary, d, i);
    for (std::int64_t r = 0; r < qkv.rows; ++r) {
      const std::int64_t t = place == -1 ? r % sizes.sequence : place;
      const double angle = frequency * static_cast<double>(t);
      const auto cosine = static_cast<T>(std::cos(angle));
      const auto sine = static_cast<T>(std::sin(angle));
      for (std::int64_t first = 0; first < qkv.cols; first += d) {
        const bool is_value = first % sizes.group_columns() == (sizes.group + 1) * d;
        const T a = qkv(r, first + i), b = qkv(r, first + half + i);
        out(r, first + i) = is_value ? a : a * cosine - b * sine;
        out(r, first + half + i) = is_value ? b : b * cosine + a * sine;
      }
    }
  }
}

}  // namespace fourfold::inline engine::inline reference
