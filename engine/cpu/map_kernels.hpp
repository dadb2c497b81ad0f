// Biases, residuals, GELU, SwiGLU, positions, casts and sums of tensors.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold::inline engine::inline cpu {

std::span<const KernelOf> map_kernels();
// Of the operation `add`.
void compute_add(const KernelCall& call);

}  // namespace fourfold::inline engine::inline cpu
