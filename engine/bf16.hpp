// bfloat16 as a rounding of fp32: the upper 16 bits, to nearest, ties to even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fourfold {

// The nearest number that bf16 can hold; beyond its range infinity, as in IEEE 754.
inline float rounded_to_bf16(float x) {
  if (std::isnan(x)) return x;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t half_and_tie = 0x7fffU + ((bits >> 16) & 1U);
  return std::bit_cast<float>((bits + half_and_tie) & 0xffff0000U);
}

}  // namespace fourfold
