// Causal attention, forward and backward.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold {

// Each returns false where it does not know the function.
bool compute_attention(const KernelCall& call);

}  // namespace fourfold
