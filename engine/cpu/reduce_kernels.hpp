// Sums along rows, along columns and of everything.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold {

std::span<const KernelOf> reduce_kernels();

}  // namespace fourfold
