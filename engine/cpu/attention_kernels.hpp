// Causal attention, forward and backward.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold {

std::span<const KernelOf> attention_kernels();

}  // namespace fourfold
