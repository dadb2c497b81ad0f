// Gives and finds blocks by name; see caches.hpp.
#include "engine/caches.hpp"

#include <stdexcept>

namespace fourfold::inline engine {

Tensor Caches::block(const std::string& name, const Tensor& like) {
  const auto [found, fresh] = kept_.try_emplace(name);
  Kept& kept = found->second;
  if (fresh) {
    kept.memory = device_.allocate(like.bytes());
    kept.block = like;
    kept.block.data = kept.memory.data();
  }
  if (kept.block.rows != like.rows || kept.block.cols != like.cols ||
      kept.block.precision != like.precision) {
    throw std::invalid_argument("caches: " + name +
                                " is of other extents; phases that share a cache must be of one "
                                "model, grid, precision and number of sequences");
  }
  return kept.block;
}

std::int64_t Caches::bytes() const {
  std::int64_t sum = 0;
  for (const auto& [name, kept] : kept_) sum += kept.memory.bytes();
  return sum;
}

}  // namespace fourfold::inline engine
