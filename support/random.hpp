// Random numbers by counter: a number depends on its seed and place alone, so that any order of
// asking gives the same ones, on every machine, and nothing is kept.
#pragma once
#include <cstdint>

namespace fourfold::inline support {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit turns half of the
// output's.
constexpr std::uint64_t scrambled(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

// The number at place (row, column) of the table that belongs to a seed.
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t row, std::uint64_t column) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
  return scrambled(scrambled(scrambled(seed + golden) + row + golden) + column + golden);
}

// One step of SplitMix64: a bijection that scatters neighbouring counters.
constexpr std::uint64_t scattered(std::uint64_t x) {
  return scrambled(x + 0x9e3779b97f4a7c15U);
}

}  // namespace fourfold::inline support
