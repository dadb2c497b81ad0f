// The arena: one allocation in which every buffer of a step has a fixed place, chosen before
// anything runs so that buffers which are never in use together share addresses.
#pragma once

#include <vector>

#include "engine/plan/buffers.hpp"
#include "engine/plan/stream_order.hpp"

namespace fourfold::inline engine::inline plan {

struct ArenaPlan {
  std::vector<std::int64_t> offsets;  // by buffer, multiples of 64 bytes
  std::int64_t bytes = 0;
};

// Greedy: one buffer after the other, each into the tightest gap among those placed before it that
// are in use at the same time. Of several sequences, each tried again with what lay too high in
// front, the one that needs least is kept.
// Two buffers share addresses where one is always given up before the other is needed.
ArenaPlan plan_arena(const std::vector<PlannedBuffer>& buffers, const StreamOrder& order = {});
// Most bytes in use at any one step of a stream as it stands: no plan needs less.
std::int64_t least_bytes(const std::vector<PlannedBuffer>& buffers);

}  // namespace fourfold::inline engine::inline plan
