// From an operation of the program to the reference kernel that is its meaning.
#pragma once

#include <span>
#include <vector>

#include "engine/matrix.hpp"
#include "schedule/program.hpp"

namespace fourfold::reference {

// What a kernel has to know beside its operands: nothing here differs between two operations.
struct Site {
  const Program* program = nullptr;
  ProcessGrid grid;
  std::int64_t rank = 0;
  std::int64_t head_columns = 0;  // hidden / heads
  std::int64_t step_tokens = 0;   // of all micro-batches on all devices: the loss is their mean
  double clip_norm = 1.0;
};

// Local blocks. `inputs` stand in the operation's order, an empty view where the operand is tokens;
// those are in `tokens`.
template <typename T>
struct Operands {
  std::vector<View<const T>> inputs;
  std::span<const std::int32_t> tokens;
  View<T> output;
};

// Everything but collectives, packs and the update, which are not kernels of one output.
template <typename T>
void compute(const Site& site, const Op& op, const Operands<T>& operands);

}  // namespace fourfold::reference
