// Before and behind an all-to-all of marked blocks: where they lie is read of the marks, they are
// put one after the other, and those that come into their places among zeros.
#pragma once

#include "engine/device_memory.hpp"
#include "engine/plan/executor_plan.hpp"

namespace fourfold::inline engine {

void make_copies(DeviceMemory& memory, const plan::work::Copies& copies);

// Fills the room and the lists of a call. Waits for the device: its host reads the marks.
void send_marked(DeviceMemory& memory, const plan::work::MarkedExchange& exchange,
                 CollectiveCall& call);
void place_marked(DeviceMemory& memory, const plan::work::MarkedExchange& exchange);

}  // namespace fourfold::inline engine
