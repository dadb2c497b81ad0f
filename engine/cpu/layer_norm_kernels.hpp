// Layer norm's maps and the sums of its backward pass.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold {

std::span<const KernelOf> layer_norm_kernels();

}  // namespace fourfold
