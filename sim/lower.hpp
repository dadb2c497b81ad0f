// Lowering puts seconds into a folded schedule: kernel times from the processor, collective costs
// from the library, for one grid on one platform.
#pragma once

#include <array>

#include "platforms/axis_rate.hpp"
#include "platforms/platform.hpp"
#include "schedule/count.hpp"
#include "sim/point.hpp"
#include "sim/timed_program.hpp"

namespace fourfold {

// Tokens of one micro-batch over all devices.
std::int64_t micro_batch_tokens(const Point& point);

// Members of a group of `axis` and the nodes they lie in, on a packed mapping (device = rank).
GroupShape group_shape(const ProcessGrid& grid, Axis axis, std::int64_t devices_per_node);

// Fills `program`, reusing its storage. `sizes` must be evaluated for the same grid.
void lower(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid,
           const AxisRates& rates, const Platform& platform, TimedProgram& program);

}  // namespace fourfold
