// Element-wise sums and maxima of two buffers, of the precision that is on the wire: the arithmetic
// of every reduction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schedule/program/sharding.hpp"
#include "schedule/program/step_options.hpp"

namespace fourfold {

struct Combination {
  Owed owed = Owed::sum;
  Precision precision = Precision::fp32;  // or bf16
};

// result[i] = so_far[i] + own[i], or std::max(so_far[i], own[i]). `result` may be either operand.
// bf16 is added in fp32 and rounded once, to nearest even.
void combine(Combination combination, std::byte* result, const std::byte* so_far,
             const std::byte* own, std::int64_t elements);

}  // namespace fourfold
