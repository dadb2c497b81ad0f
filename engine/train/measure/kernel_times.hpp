// Times of the engine's own kernels, one operation after the other, on all ranks at once: what a
// machine's rates are made of.
#pragma once

#include "engine/train/measure/measurements.hpp"

namespace fourfold::inline engine::inline train::inline measure {

// Products by shape, every other operation by size, attention by length, a copy, the FMA peak.
void measure_kernels(Measurements& measurements);
std::int64_t kernel_measurements();

// The same work on as many ranks as there are, which may share cores: CPU time of long stretches.
void measure_crowding(Measurements& measurements);
std::int64_t crowding_measurements();

}  // namespace fourfold::inline engine::inline train::inline measure
