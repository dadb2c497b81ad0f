// Keys and values that are kept, and attention of the newest tokens to them.
#pragma once

#include "engine/cpu/call.hpp"

namespace fourfold::inline engine::inline cpu {

std::span<const KernelOf> key_value_cache_kernels();

}  // namespace fourfold::inline engine::inline cpu
