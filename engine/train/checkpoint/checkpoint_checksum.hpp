// Checksums that no grid changes: a matrix's is the sum of one 64-bit number per element, made from
// the element's bits and its place, so that ranks can add up what they hold in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/train/checkpoint/safetensors.hpp"
#include "support/random.hpp"

namespace fourfold {

// Of elements that stand at `first` and after in their matrix. Modulo 2^64. Another value at a
// place always gives another sum, and several changes cancel out with a chance of 2^-64.
inline std::uint64_t checksum(std::span<const float> values, std::int64_t first) {
  constexpr std::uint64_t stride = 0xd1342543de82ef95U;  // odd, so that places differ
  auto place = static_cast<std::uint64_t>(first) * stride;
  std::uint64_t sum = 0;
  for (const float value : values) {
    sum += scattered(place + std::bit_cast<std::uint32_t>(value));
    place += stride;
  }
  return sum;
}

// Adds the checksums of elements of the data from `first` to those of their matrices.
inline void add_checksums(const std::vector<SavedMatrix>& matrices, std::int64_t first,
                          std::span<const float> values, std::vector<std::uint64_t>& sums) {
  const std::int64_t end = first + static_cast<std::int64_t>(values.size());
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const std::int64_t from = std::max(first, matrices[i].first);
    const std::int64_t to = std::min(end, matrices[i].first + matrices[i].elements());
    if (from >= to) continue;
    sums[i] += checksum(
        values.subspan(static_cast<std::size_t>(from - first), static_cast<std::size_t>(to - from)),
        from - matrices[i].first);
  }
}

// Of heads and JSON.
inline std::uint64_t checksum(const std::string& text) {
  std::uint64_t sum = text.size();
  for (const char c : text) sum = scattered(sum ^ static_cast<unsigned char>(c));
  return sum;
}

}  // namespace fourfold
