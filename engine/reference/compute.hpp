// From an operation of the program to the reference kernel that is its meaning.
#pragma once

#include <span>
#include <vector>

#include "engine/backend.hpp"
#include "engine/reference/matrix.hpp"
#include "schedule/program/program.hpp"

namespace fourfold::inline engine::inline reference {

// Local blocks. `inputs` stand in the operation's order, an empty view where the operand is tokens;
// those are in `tokens`. What the function writes in place is in `written` as well.
template <typename T>
struct Operands {
  std::vector<View<const T>> inputs;
  std::span<const std::int32_t> tokens;
  View<T> output;
  View<T> written{};
};

// The meaning of one function.
template <typename T>
struct Kernel {
  const Function* function;
  void (*compute)(const Device& device, const Op& op, const Operands<T>& operands);
};

// Everything but collectives, packs and the update, which are not kernels of one output.
template <typename T>
class Kernels {
 public:
  Kernels();
  // A function of one's own: its description says the rest.
  void add(const Kernel<T>& kernel) { of_functions_.push_back(kernel); }
  void compute(const Device& device, const Op& op, const Operands<T>& operands) const;

 private:
  std::vector<Kernel<T>> of_functions_;
};

}  // namespace fourfold::inline engine::inline reference
