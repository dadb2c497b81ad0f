// How numbers are stored in a file of others: fp32, bf16 or fp16, by their names in safetensors,
// and their bits as fp32, exactly.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "engine/bf16.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

enum class NumberType : std::uint8_t { fp32, bf16, fp16 };

constexpr std::int64_t bytes_of(NumberType type) {
  return type == NumberType::fp32 ? 4 : 2;
}

inline const char* name(NumberType type) {
  if (type == NumberType::fp32) return "F32";
  return type == NumberType::bf16 ? "BF16" : "F16";
}

// Throws std::runtime_error, half a sentence that follows the file's name.
inline NumberType number_type_named(const std::string& text) {
  for (NumberType type : {NumberType::fp32, NumberType::bf16, NumberType::fp16}) {
    if (text == name(type)) return type;
  }
  throw std::runtime_error("holds numbers of type " + text + "; known: F32, BF16, F16");
}

// IEEE 754 half precision: 1 sign bit, 5 of exponent (bias 15), 10 of fraction.
inline float from_half(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, exponent = bits >> 10 & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float small = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -small : small;
  }
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

inline std::uint32_t to_half(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  if (std::isnan(number)) return sign | 0x7C00U | std::max(1U, bits >> 13 & 0x3FFU);
  const float size = std::abs(number);
  if (size >= 65520.0F) return sign | 0x7C00U;
  if (size < 0x1p-14F) {  // in steps of 2^-24; the first normal number follows the last of them
    return sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 24)));
  }
  const std::uint32_t rounded = (bits & 0x7FFFFFFFU) + 0xFFFU + (bits >> 13 & 1U);
  return sign | ((rounded >> 13) - (112U << 10));
}

inline float from_bits(NumberType type, std::uint32_t bits) {
  if (type == NumberType::fp32) return std::bit_cast<float>(bits);
  return type == NumberType::bf16 ? std::bit_cast<float>(bits << 16) : from_half(bits);
}

// To nearest even. A number that came from a type goes back to the same bits.
inline std::uint32_t to_bits(NumberType type, float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  if (type == NumberType::fp32) return bits;
  if (type == NumberType::fp16) return to_half(number);
  return (bits & 0xFFFFU) == 0 ? bits >> 16 : bf16_bits(number);
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
