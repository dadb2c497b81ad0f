// Words as numbers of the vocabulary, and the one number beside them: a target that is left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace fourfold::inline engine {

// Stands in for a target that neither the loss nor the gradient is to know of: a prompt's word, or
// one that Goldfish loss leaves out. The loss is the mean over the others.
inline constexpr std::int32_t ignored_target = -1;

// How many count towards the loss.
inline std::int64_t counted_targets(std::span<const std::int32_t> targets) {
  return std::ranges::count_if(targets, [](std::int32_t word) { return word != ignored_target; });
}

}  // namespace fourfold::inline engine
