// The one step of a run that --trace writes: which it is, and the file.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/executor.hpp"
#include "engine/train/flags/settings.hpp"
#include "engine/train/run/world.hpp"

namespace fourfold::inline engine::inline train::inline run {

// The step of this run that --trace means, as many having been trained before it; by default that
// is the last where minutes, or a signal, end the run before. Throws std::runtime_error if the run
// has not so many.
std::int64_t traced_step(const TrainSettings& settings, std::int64_t steps_before);

// From each rank's spans of that step. Collective.
void write_traced_step(const TrainSettings& settings, const World& world, std::int64_t step,
                       const std::vector<OpSpan>& spans);

}  // namespace fourfold::inline engine::inline train::inline run
