// What a run says of its memory after the first step: how far it has grown, beside the count.
#pragma once

#include "engine/train/run/memory.hpp"
#include "engine/train/run/run_log.hpp"
#include "engine/train/run/world.hpp"
#include "schedule/fold/memory.hpp"

namespace fourfold::inline engine::inline train::inline run {

// Of the rank that has grown most. Collective.
void report_growth(const World& world, const RunLog& log, const MemoryGrowth& growth,
                   const MemoryUse& counted);

}  // namespace fourfold::inline engine::inline train::inline run
