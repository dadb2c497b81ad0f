// Packs of the blocks of all ranks: a pack's local block is its members', one after the other.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/reference/matrix.hpp"

namespace fourfold::inline engine::inline reference {

template <typename T>
using Blocks = std::vector<Matrix<T>>;  // by rank

template <typename T>
Blocks<T> packed(const std::vector<const Blocks<T>*>& members) {
  Blocks<T> result(members.at(0)->size());
  for (std::size_t rank = 0; rank < result.size(); ++rank) {
    std::vector<T>& values = result[rank].values;
    for (const Blocks<T>* member : members) {
      const std::vector<T>& own = (*member)[rank].values;
      values.insert(values.end(), own.begin(), own.end());
    }
    result[rank].rows = 1;
    result[rank].cols = static_cast<std::int64_t>(values.size());
  }
  return result;
}

// Fills `member`, whose extents are known, from position `first` of the pack on.
template <typename T>
void unpack(const Blocks<T>& pack, std::int64_t first, Blocks<T>& member) {
  for (std::size_t rank = 0; rank < pack.size(); ++rank) {
    std::vector<T>& own = member[rank].values;
    std::copy_n(pack[rank].values.begin() + first, own.size(), own.begin());
  }
}

}  // namespace fourfold::inline engine::inline reference
