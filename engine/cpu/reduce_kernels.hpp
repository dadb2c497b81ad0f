// Sums along rows, along columns and of everything.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold::inline engine::inline cpu {

std::span<const KernelOf> reduce_kernels();

}  // namespace fourfold::inline engine::inline cpu
