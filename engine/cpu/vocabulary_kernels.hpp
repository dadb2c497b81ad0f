// Kernels that know the vocabulary: lookups, and softmax cross-entropy over cut logits.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold {

// Each returns false where it does not know the function.
bool compute_softmax(const KernelCall& call);
bool compute_lookup(const KernelCall& call);

}  // namespace fourfold
