// Shuffles without lists: where the i-th of n things goes, from a key alone.
#pragma once

#include <cstdint>

namespace fourfold {

// A permutation of 0 .. size - 1 for each key, `size` up to 2^62.
std::int64_t permuted(std::int64_t index, std::int64_t size, std::uint64_t key);

}  // namespace fourfold
