// Goldfish loss (Hans et al. 2024, arXiv:2406.10209): a target is left out of the loss if a hash of
// the words before it falls in one of k, so that a passage that is read again and again is never
// learnt word by word. A pure function of the text: wherever, whenever and on whatever grid the
// same words come, the same of them are left out.
#pragma once

#include <cstdint>
#include <span>

namespace fourfold::inline engine::inline train::inline data {

struct Goldfish {
  std::int64_t k = 0;   // one target of so many is left out; 0: none
  std::int64_t h = 13;  // words before a target that decide

  // Whether the target behind these h words is left out. A target with fewer words before it is
  // not.
  bool leaves_out(std::span<const std::int32_t> before) const;
};

}  // namespace fourfold::inline engine::inline train::inline data
