// What both backends refuse before they touch memory: operands that do not fit the operation.
#pragma once

#include "engine/backend.hpp"

namespace fourfold::inline engine::inline cpu {

// Throws std::invalid_argument with the operation, the operand and what would fit.
void check_operands(const Device& device, const Op& op, const KernelOperands& operands);
void check_operands(const UpdateOperands& operands);

}  // namespace fourfold::inline engine::inline cpu
