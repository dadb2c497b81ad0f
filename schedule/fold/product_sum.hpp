// The sum over micro-batches to which the product for a weight's gradient adds: what a software may
// do inside the product.
#pragma once

#include <algorithm>

#include "schedule/program/program.hpp"

namespace fourfold::inline schedule::inline fold {

inline constexpr Function product_sum{"product_sum"};

// Whole gradients of a matrix of weights, in 32 bits as its product leaves them: not cut in pieces
// yet, as what has been reduced is.
inline bool adds_to_product(const Program& program, const Op& op) {
  return op.kind == OpKind::add && std::ranges::all_of(op.inputs, [&](Id id) {
           const Value& value = program[id];
           const Extent rows = value.shape.rows;
           return value.precision == Precision::fp32 && rows.constant() && rows != Extent(1) &&
                  value.shape.sharding.pieces.empty();
         });
}

// What an operation costs by.
inline const Function* cost_function(const Program& program, const Op& op) {
  return adds_to_product(program, op) ? &product_sum : op.function;
}

}  // namespace fourfold::inline schedule::inline fold
