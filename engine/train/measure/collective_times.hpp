// Times of collectives and messages through the engine's own transports, by size, by members of a
// group, with all groups at once, and what collectives and kernels lose to each other.
#pragma once

#include "engine/mpi/channels.hpp"
#include "engine/train/measure/measurements.hpp"

namespace fourfold::inline engine::inline train::inline measure {

void measure_collectives(Measurements& measurements, TransportKind transport);
std::int64_t collective_measurements(std::int64_t ranks);

// A product alone, an all-reduce alone, and both at once.
void measure_overlap(Measurements& measurements, TransportKind transport);
std::int64_t overlap_measurements();

}  // namespace fourfold::inline engine::inline train::inline measure
