// The hash of Goldfish loss; see goldfish.hpp.
#include "engine/train/data/goldfish.hpp"

#include "support/random.hpp"

namespace fourfold::inline engine::inline train::inline data {

bool Goldfish::leaves_out(std::span<const std::int32_t> before) const {
  if (k < 1 || static_cast<std::int64_t>(before.size()) < h) return false;
  std::uint64_t hash = 0;
  for (const std::int32_t word : before) hash = scattered(hash ^ static_cast<std::uint64_t>(word));
  return hash % static_cast<std::uint64_t>(k) == 0;
}

}  // namespace fourfold::inline engine::inline train::inline data
