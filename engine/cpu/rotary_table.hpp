// Cosines and sines of rotary positions, kept between calls: there are as many as half the columns
// of a head for each position of a sequence.
#pragma once

#include <cmath>
#include <vector>

#include "engine/reference/rotary.hpp"

namespace fourfold::inline engine::inline cpu {

class RotaryTable {
 public:
  // Cosines position by position, then sines.
  const float* of(const Rotary& rotary, const reference::AttentionSizes& sizes) {
    const std::int64_t half = sizes.head_columns / 2, all = sizes.sequence * half;
    if (rotary == rotary_ && half == half_ && static_cast<std::int64_t>(table_.size()) == 2 * all) {
      return table_.data();
    }
    rotary_ = rotary;
    half_ = half;
    table_.resize(static_cast<std::size_t>(2 * all));
    for (std::int64_t i = 0; i < half; ++i) {
      const double frequency = reference::rotary_frequency(rotary, sizes.head_columns, i);
      for (std::int64_t t = 0; t < sizes.sequence; ++t) {
        const double angle = frequency * static_cast<double>(t);
        table_[static_cast<std::size_t>(t * half + i)] = static_cast<float>(std::cos(angle));
        table_[static_cast<std::size_t>(all + t * half + i)] = static_cast<float>(std::sin(angle));
      }
    }
    return table_.data();
  }

 private:
  Rotary rotary_;
  std::int64_t half_ = 0;
  std::vector<float> table_;
};

}  // namespace fourfold::inline engine::inline cpu
