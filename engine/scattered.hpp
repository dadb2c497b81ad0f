// Random bits by counter: numbers that depend on their seed and place alone, so that any order of
// asking gives the same ones on every grid.
#pragma once

#include <cstdint>

namespace fourfold {

// splitmix64 (Steele, Lea and Flood, 2014): a bijection that scatters neighbouring counters.
constexpr std::uint64_t scattered(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace fourfold
