// What the stages of a pipeline send each other when each follows its order: whether the orders fit
// together.
#pragma once

#include <string>
#include <vector>

#include "schedule/program/turn.hpp"

namespace fourfold::inline schedule::inline order {

// Why the orders of all stages, from the first on, cannot be done together: one of them cannot be
// done, the k-th message that one stage sends another one is not the k-th that this receives, or
// they wait for each other for ever.
std::string fault(const std::vector<Order>& stages, bool trains = true);

}  // namespace fourfold::inline schedule::inline order
