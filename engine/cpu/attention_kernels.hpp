// Causal attention, forward and backward.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold::inline engine::inline cpu {

std::span<const KernelOf> attention_kernels();

}  // namespace fourfold::inline engine::inline cpu
