// Peak memory of a folded schedule on a grid, by liveness: what is in use when most is.
#pragma once

#include "schedule/fold/count.hpp"
#include "schedule/fold/pipeline.hpp"

namespace fourfold::inline schedule::inline fold {

// All roles of a training step, and of the others those that have any bytes.
std::vector<Role> roles_in(const std::array<Bytes, role_count>& by_role);

struct MemoryUse {
  Bytes peak;
  std::array<Bytes, role_count> by_role{};  // at the peak
  Bytes on_host;  // at most, in its host's memory: of an offloaded optimizer and activations
};
MemoryUse peak_memory(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid);
// Of all stages; `sizes` are those of the kinds.
std::vector<MemoryUse> peak_memory(const Pipeline& pipeline, const std::vector<LocalSizes>& sizes,
                                   const ProcessGrid& grid);

}  // namespace fourfold::inline schedule::inline fold
