// How fast a machine computes in fp32 and outside products.
#pragma once

#include <optional>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms {

// Of the largest products, and of flops outside products; nothing where the machine's file has no
// fp32_Tflops.
std::optional<FlopsPerSecond> fp32_products(const Platform& platform);
// That over the rate of the largest products in 16 bits; 1 where it is not known.
double fp32_rate(const Platform& platform);
// The same as the machine's file says it, whatever is scaled: attention has rates of its own, in 16
// bits, that move with neither.
double fp32_attention_rate(const Platform& platform);
// Vector flops that take as long as one special function. Source: CUDA C++ Programming Guide,
// throughput of arithmetic instructions: of a multiprocessor of H100 256 flops a clock and 16
// special functions; of A100's and V100's, and of a compute unit of CDNA, 128 and 16.
inline constexpr double flops_of_special = 16.0;

}  // namespace fourfold::inline platforms
