// Norms of queries and keys, over all heads or by head.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold::inline engine::inline cpu {

std::span<const KernelOf> query_key_norm_kernels();

}  // namespace fourfold::inline engine::inline cpu
