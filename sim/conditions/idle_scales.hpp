// What-if factors on links that a job has no traffic on.
#pragma once

#include "platforms/platform.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline conditions {

// Throws std::invalid_argument with a sentence if a factor on a bandwidth of links changes no link
// that a ring of the point's grid passes. `platform` is as scaled.
void refuse_idle_scales(const Point& point, const Platform& platform);

}  // namespace fourfold::inline sim::inline conditions
