// Kernels that know the vocabulary: lookups, and softmax cross-entropy over cut logits.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold::inline engine::inline cpu {

std::span<const KernelOf> vocabulary_kernels();

}  // namespace fourfold::inline engine::inline cpu
