// Layer norm's maps and the sums of its backward pass.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold {

// Each returns false where it does not know the function.
bool compute_layer_norm(const KernelCall& call);

}  // namespace fourfold
