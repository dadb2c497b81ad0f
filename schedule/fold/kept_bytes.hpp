// What a framework's functions keep beside the step's own buffers, body by body.
#pragma once

#include "schedule/fold/memory_rules.hpp"

namespace fourfold::inline schedule::inline fold {

struct KeptBytes {
  double left = 0.0;     // more than there was before the body; below 0: what it gives back
  double reached = 0.0;  // at its highest point
};

// By body; empty without rules for functions.
std::vector<KeptBytes> kept_bytes(const Folded& folded, const LocalSizes& sizes,
                                  const ProcessGrid& grid, const MemoryRules& rules);

}  // namespace fourfold::inline schedule::inline fold
