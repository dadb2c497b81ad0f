// The communication model of the SC24 paper (arXiv:2502.08145, equations (1)-(7)): ring bytes over
// an effective bandwidth, no latency, no overlap, no compute. Its authors rank process grids by it.
#pragma once

#include "platforms/platform.hpp"
#include "schedule/fold/count.hpp"
#include "schedule/program/process_grid.hpp"

namespace fourfold {

// Effective bandwidth of the groups of `axis`: inside a node what the library measured there,
// across nodes that of a whole node divided by min(devices per node, inner extents), equation (7).
BytesPerSecond paper_bandwidth(const ProcessGrid& grid, Axis axis, const Platform& platform);

// The sum over all collectives of a step, one after the other. `counts` of the same grid.
Seconds paper_communication(const Counts& counts, const ProcessGrid& grid,
                            const Platform& platform);

}  // namespace fourfold
