// Stages walked side by side in one thread: each goes on until it needs another one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fourfold::inline schedule::inline order {

// `walk(i)` takes walker i as far as it can go and says whether it is through; `position(i)` grows
// as it goes on. False if walkers are left that wait for each other for ever.
template <typename Walk, typename Position>
bool side_by_side(std::size_t walkers, const Walk& walk, const Position& position) {
  std::vector<bool> through(walkers, false);
  while (std::ranges::count(through, false) > 0) {
    bool moved = false;
    for (std::size_t i = 0; i < walkers; ++i) {
      if (through[i]) continue;
      const std::size_t before = position(i);
      through[i] = walk(i);
      moved |= through[i] || position(i) != before;
    }
    if (!moved) return false;
  }
  return true;
}

}  // namespace fourfold::inline schedule::inline order
