// How fast a machine computes in fp32.
#pragma once

#include <optional>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms {

// Of the largest products; nothing where the machine's file has no fp32_Tflops.
std::optional<FlopsPerSecond> fp32_products(const Platform& platform);
// That over the rate of the largest products in 16 bits; 1 where it is not known.
double fp32_rate(const Platform& platform);

}  // namespace fourfold::inline platforms
