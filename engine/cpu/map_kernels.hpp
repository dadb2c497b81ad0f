// Biases, residuals, GELU, positions, casts and sums of tensors.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold {

// Each returns false where it does not know the function.
bool compute_map(const KernelCall& call);
bool compute_add(const KernelCall& call);

}  // namespace fourfold
