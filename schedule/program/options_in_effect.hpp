// What of the options a grid and a phase leave to decide: one that speaks of an axis of extent 1,
// or of gradients where there are none, says nothing.
#pragma once

#include "schedule/program/process_grid.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold::inline schedule::inline program {

// The options with buckets along data as large as they must be on this grid.
StepOptions with_buckets(StepOptions options, const ProcessGrid& grid);

// Of a phase that trains nothing: the options with those as usual that speak of backward passes,
// gradients and the optimizer.
StepOptions forward_alone(StepOptions options);

// The options with those as usual that have no axis to act on: what is cut along data with one
// replica, what is gathered along z with z = 1, tokens cut by x with x = 1. Nobody would run a
// collective of one, or keep a second copy of what is whole. With the buckets of the grid.
StepOptions in_effect(StepOptions options, const ProcessGrid& grid);

}  // namespace fourfold::inline schedule::inline program
