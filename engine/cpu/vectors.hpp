// Sixteen floats at a time: what the vectorised loops are written with. The compiler lowers a Lanes
// to what the processor has, so one source serves AVX-512, AVX2 and the baseline.
//
// A loop is a plain function marked FOURFOLD_CLONES: it is compiled once for each of the three and
// chosen when the program is loaded. What it calls must be always_inline, as all of this is, so
// that it is compiled with it.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/vector_widths.hpp"

// Lanes are passed only between functions that are inlined: their calling convention is moot.
#pragma GCC diagnostic ignored "-Wpsabi"

#define FOURFOLD_INLINE [[gnu::always_inline]] inline
#define FOURFOLD_INLINE_BODY __attribute__((always_inline))

namespace fourfold::inline engine::inline cpu {

inline constexpr std::int64_t lane_width = 16;

using Lanes = float __attribute__((vector_size(64)));
using IntLanes = std::int32_t __attribute__((vector_size(64)));
using WordLanes = std::uint32_t __attribute__((vector_size(64)));
using HalfLanes = std::uint16_t __attribute__((vector_size(32)));

FOURFOLD_INLINE Lanes lanes_of(float x) {
  return Lanes{} + x;
}

// Where a loop stands: at sixteen elements, or at the fewer that are left. What is missing reads as
// zero and is not written.
struct Whole {
  std::int64_t i;
  FOURFOLD_INLINE Lanes load(const float* from) const {
    Lanes result;
    std::memcpy(&result, from + i, sizeof(result));
    return result;
  }
  FOURFOLD_INLINE void store(float* to, const Lanes& x) const {
    std::memcpy(to + i, &x, sizeof(x));
  }
  FOURFOLD_INLINE Lanes only(const Lanes& x) const { return x; }
};

struct Rest {
  std::int64_t i, count;
  FOURFOLD_INLINE Lanes load(const float* from) const {
    Lanes result{};
    for (std::int64_t k = 0; k < count; ++k) result[k] = from[i + k];
    return result;
  }
  FOURFOLD_INLINE void store(float* to, const Lanes& x) const {
    for (std::int64_t k = 0; k < count; ++k) to[i + k] = x[k];
  }
  // Zeros where there is no element.
  FOURFOLD_INLINE Lanes only(const Lanes& x) const {
    Lanes result{};
    for (std::int64_t k = 0; k < count; ++k) result[k] = x[k];
    return result;
  }
};

// Calls `body` for all of n elements in order.
template <typename Body>
FOURFOLD_INLINE void for_lanes(std::int64_t n, const Body& body) {
  std::int64_t i = 0;
  for (; i + lane_width <= n; i += lane_width) body(Whole{i});
  if (i < n) body(Rest{i, n - i});
}

// Sixteen pairs that lie element by element: first, second, first, second.
struct Pairs {
  Lanes first, second;
};
FOURFOLD_INLINE Pairs load_pairs(const Whole& at, const float* from) {
  const Lanes low = Whole{2 * at.i}.load(from), high = Whole{2 * at.i + lane_width}.load(from);
  return {
      __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
      __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29,
                              31)};
}
FOURFOLD_INLINE void store_pairs(const Whole& at, float* to, const Pairs& x) {
  Whole{2 * at.i}.store(to, __builtin_shufflevector(x.first, x.second, 0, 16, 1, 17, 2, 18, 3, 19,
                                                    4, 20, 5, 21, 6, 22, 7, 23));
  Whole{2 * at.i + lane_width}.store(
      to, __builtin_shufflevector(x.first, x.second, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29,
                                  14, 30, 15, 31));
}
FOURFOLD_INLINE Pairs load_pairs(const Rest& at, const float* from) {
  Pairs result{};
  for (std::int64_t k = 0; k < at.count; ++k) {
    result.first[k] = from[2 * (at.i + k)];
    result.second[k] = from[2 * (at.i + k) + 1];
  }
  return result;
}
FOURFOLD_INLINE void store_pairs(const Rest& at, float* to, const Pairs& x) {
  for (std::int64_t k = 0; k < at.count; ++k) {
    to[2 * (at.i + k)] = x.first[k];
    to[2 * (at.i + k) + 1] = x.second[k];
  }
}

FOURFOLD_INLINE float sum_of(const Lanes& x) {
  float eight[8], four[4];
  for (int k = 0; k < 8; ++k) eight[k] = x[k] + x[k + 8];
  for (int k = 0; k < 4; ++k) four[k] = eight[k] + eight[k + 4];
  return (four[0] + four[2]) + (four[1] + four[3]);
}

FOURFOLD_INLINE Lanes larger(const Lanes& a, const Lanes& b) {
  return a > b ? a : b;
}

// Adds up at.only(term(at)) over n elements, in four chains of sixteen: rounding grows with n/64,
// and the processor need not wait for one addition to start the next.
template <typename Term>
FOURFOLD_INLINE float sum_over(std::int64_t n, const Term& term) {
  Lanes chains[4]{};
  std::int64_t i = 0;
  for (; i + 4 * lane_width <= n; i += 4 * lane_width) {
    for (int c = 0; c < 4; ++c) chains[c] += term(Whole{i + c * lane_width});
  }
  for (; i + lane_width <= n; i += lane_width) chains[0] += term(Whole{i});
  if (i < n) chains[1] += Rest{i, n - i}.only(term(Rest{i, n - i}));
  return sum_of((chains[0] + chains[1]) + (chains[2] + chains[3]));
}

// e^x within 1.2e-7 relative: e^x = 2^n e^r, |r| <= ln(2)/2, a polynomial of degree 7 in r
// (coefficients as in Moshier's Cephes, expf). Saturates at e^-87 and e^88, far from where a sum
// of such numbers would notice or overflow; what is no number stays none.
FOURFOLD_INLINE Lanes exp_of(const Lanes& x) {
  const Lanes low = lanes_of(-87.0F);
  const Lanes high = lanes_of(88.0F);
  Lanes bounded = x < low ? low : x;
  bounded = bounded > high ? high : bounded;
  constexpr float to_integer = 12582912.0F;  // 1.5 * 2^23: what is added to it is rounded
  const Lanes shifted = bounded * 1.44269504088896341F + to_integer;
  const Lanes n = shifted - to_integer;
  const Lanes r = (bounded - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts
  Lanes p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const IntLanes exponent = (reinterpret_cast<IntLanes>(shifted) << 23) + 0x3f800000;
  return p * reinterpret_cast<Lanes>(exponent);
}

// 1 / (1 + e^-x).
FOURFOLD_INLINE Lanes logistic_of(const Lanes& x) {
  return 1.0F / (1.0F + exp_of(-x));
}

}  // namespace fourfold::inline engine::inline cpu
