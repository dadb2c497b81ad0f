// Sums along rows, along columns and of everything.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold {

// Each returns false where it does not know the function.
bool compute_reduce(const KernelCall& call);

}  // namespace fourfold
