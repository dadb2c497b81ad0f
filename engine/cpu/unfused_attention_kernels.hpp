// Unfused attention: products for every head of every sequence, and the softmax between them.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold::inline engine::inline cpu {

// Of the two softmax functions.
std::span<const KernelOf> softmax_kernels();
// All products of an operation's function, one after the other.
void multiply_heads(const KernelCall& call);

}  // namespace fourfold::inline engine::inline cpu
