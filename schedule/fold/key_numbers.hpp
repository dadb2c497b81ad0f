// Numbers for distinct keys, lists of integers, in order of appearance.
#pragma once

#include <cstdint>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fourfold::inline schedule::inline fold {

template <typename Integer>
class KeyNumbers {
 public:
  using Key = std::vector<Integer>;

  // The number of the key, and whether it is new.
  std::pair<std::int32_t, bool> number(const Key& key) {
    const auto next = static_cast<std::int32_t>(numbers_.size());
    const auto [found, inserted] = numbers_.try_emplace(key, next);
    return {found->second, inserted};
  }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a
      for (Integer part : key) {
        hash = (hash ^ static_cast<std::make_unsigned_t<Integer>>(part)) * 1099511628211ULL;
      }
      return static_cast<std::size_t>(hash);
    }
  };

  std::unordered_map<Key, std::int32_t, Hash> numbers_;
};

}  // namespace fourfold::inline schedule::inline fold
