// A Feistel network over the next even number of bits, walked until it lands inside (Black and
// Rogaway, 2002: cycle walking); see data_order.hpp.
#include "engine/train/data_order.hpp"

#include <bit>

#include "engine/scattered.hpp"

namespace fourfold {

std::int64_t permuted(std::int64_t index, std::int64_t size, std::uint64_t key) {
  const auto limit = static_cast<std::uint64_t>(size);
  const int half = (std::bit_width(limit - 1) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  auto place = static_cast<std::uint64_t>(index);
  // The network permutes fewer than 4 size numbers, so this ends, on average within four rounds.
  do {
    std::uint64_t left = place >> half;
    std::uint64_t right = place & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t mixed = scattered(scattered(key + round) ^ right) & mask;
      const std::uint64_t next = left ^ mixed;
      left = right;
      right = next;
    }
    place = left << half | right;
  } while (place >= limit);
  return static_cast<std::int64_t>(place);
}

}  // namespace fourfold
