// The communication model of the SC24 paper (arXiv:2502.08145, equations (1)-(7)): ring bytes over
// an effective bandwidth, no latency, no overlap, no compute. Its authors rank process grids by it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "schedule/fold/count.hpp"
#include "schedule/models/model.hpp"
#include "schedule/program/process_grid.hpp"
#include "schedule/program/rank_order.hpp"

namespace fourfold::inline sim::inline cost {

// Effective bandwidth of the groups of `axis`: inside a node what the library measured there,
// across nodes that of a whole node divided by min(devices per node, inner extents), equation (7).
BytesPerSecond paper_bandwidth(const ProcessGrid& grid, Axis axis, const Platform& platform);

// The sum over all collectives of a step, one after the other. `counts` of the same grid.
Seconds paper_communication(const Counts& counts, const ProcessGrid& grid,
                            const Platform& platform);

// The model as the authors' scripts code it (axonn-ai/Megatron-AxoNN, branch
// gordon-bell-perlmutter), with their measured bandwidths: the four products of a block, two
// gathers and two forward reductions for recompute, the reduction along data in fp32; embedding and
// head are left out. Extents are powers of two, and x, y and z together at least 4 devices for 5B
// parameters, 8 for 10B and so on. A product that is not swapped sums up its forward results along
// the scripts' innermost axis. Here that is y, so ranks must lie in this order.
RankOrder coded_rank_order();
// Whether the scripts know the machine.
bool codes_machine(const std::string& platform);
// A step of so many sequences on a machine that they know.
Seconds coded_communication(const Model& model, std::int64_t sequences, const ProcessGrid& grid,
                            const std::string& platform);
// The first `count` of the grids that fit the model, least communication first.
std::vector<ProcessGrid> coded_grids(const Model& model, std::int64_t sequences,
                                     std::int64_t devices, const std::string& platform,
                                     std::size_t count);

}  // namespace fourfold::inline sim::inline cost
