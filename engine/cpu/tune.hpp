// Kernel tuning as AxoNN does it in its first step (Singh et al., SC24): each distinct product of a
// program is timed in every library and form, and the fastest is kept.
#pragma once

#include <vector>

#include "engine/cpu/gemm_kernels.hpp"

namespace fourfold::inline engine::inline cpu {

// Times on this rank, with operands of its own that are freed afterwards. What others are to choose
// has to be sent to them.
KernelChoices tuned(const std::vector<CountedProduct>& products);
// Of one product; a kernel that is far behind those before it is timed once only.
std::vector<KernelTiming> timed(const Product& product, const std::vector<GemmKernel>& kernels);

}  // namespace fourfold::inline engine::inline cpu
