// The sum over micro-batches to which the product for a weight's gradient adds: what a software may
// do inside the product.
#pragma once

#include "schedule/program/function.hpp"

namespace fourfold::inline schedule::inline fold {

inline constexpr Function product_sum{"product_sum"};

}  // namespace fourfold::inline schedule::inline fold
