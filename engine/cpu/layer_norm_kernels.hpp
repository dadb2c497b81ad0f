// Maps of layer norm and RMS norm and the sums of their backward passes.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold::inline engine::inline cpu {

std::span<const KernelOf> layer_norm_kernels();

}  // namespace fourfold::inline engine::inline cpu
