// What-if factors on links that a job has no traffic on.
#pragma once

#include <string>
#include <vector>

#include "platforms/platform.hpp"
#include "sim/question/point.hpp"

namespace fourfold::inline sim::inline conditions {

// The keys of factors on a bandwidth of links that change no link that a ring of the point's grid
// passes. `platform` is as scaled.
std::vector<std::string> idle_scales(const Point& point, const Platform& platform);

// Throws std::invalid_argument with a sentence if there is one.
void refuse_idle_scales(const Point& point, const Platform& platform);

}  // namespace fourfold::inline sim::inline conditions
