// What the what-ifs of a point mean for each rank of its job on its platform.
#pragma once

#include <string>
#include <vector>

#include "platforms/mapping.hpp"
#include "platforms/platform.hpp"
#include "sim/conditions/jitter.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline conditions {

// These throw std::runtime_error or std::invalid_argument with a sentence on placements that do not
// fit the job or the machine, and on slow devices that are not in the job.
Mapping mapping_of(const Point& point, const Platform& platform);
// By rank, on compute time; empty if no device is slow.
std::vector<double> compute_factors(const Point& point, const Mapping& mapping);
Jitter jitter_of(const WhatIfs& what_ifs);

// Throws std::invalid_argument with a sentence if the machine says no spreads that could be drawn.
void refuse_idle_jitter(const WhatIfs& what_ifs, const Platform& platform);
// Why the tuning of collectives can change none of the point's; empty if it can, or is none. Who
// looks at several grids lets those do without it that cannot use it.
std::string idle_tuning(const Point& point, const Platform& platform);

}  // namespace fourfold::inline sim::inline conditions
