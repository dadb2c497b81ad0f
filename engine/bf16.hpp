// bfloat16 as a rounding of fp32: the upper 16 bits, to nearest, ties to even.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fourfold::inline engine {

// The nearest number that bf16 can hold; beyond its range infinity, as in IEEE 754.
inline float rounded_to_bf16(float x) {
  if (std::isnan(x)) return x;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t half_and_tie = 0x7fffU + ((bits >> 16) & 1U);
  return std::bit_cast<float>((bits + half_and_tie) & 0xffff0000U);
}

// The 16 bits that are stored and sent. A NaN stays one, whatever bits its lower half has.
inline std::uint16_t bf16_bits(float x) {
  if (std::isnan(x)) return 0x7fc0;
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded_to_bf16(x)) >> 16);
}

inline float from_bf16_bits(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace fourfold::inline engine
