// What kernels of maps and reductions share: where their slots of scratch begin, operands read
// whole, and sums of columns.
#pragma once

#include <algorithm>

#include "engine/cpu/call.hpp"
#include "engine/cpu/numbers.hpp"

namespace fourfold::inline engine::inline cpu {

// Slots before it are those of products.
inline constexpr std::size_t first_slot = 3;

// A norm's scales and offsets, all of them.
inline const float* parameters(const KernelCall& call, std::size_t operand) {
  const Tensor& t = call.in(operand);
  return Reader(t, call.scratch.floats(first_slot + 1, t.size())).stretch(0, t.size());
}

inline Reader gradient_rows(const KernelCall& call) {
  return {call.in(0), call.scratch.floats(first_slot + 2, call.in(0).cols)};
}

// Where sums of columns are kept until they are complete.
class ColumnSums {
 public:
  ColumnSums(const KernelCall& call, std::int64_t n)
      : call_(call), sums_(call.scratch.floats(first_slot + 1, n)), n_(n) {
    std::fill_n(sums_, n, 0.0F);
  }
  float* sums() const { return sums_; }
  void write() const {
    const Writer writer(call_.out(), sums_);
    if (call_.out().precision == Precision::fp32) rows::copy(sums_, n_, writer.stretch(0));
    writer.finish(0, n_);
  }

 private:
  const KernelCall& call_;
  float* sums_;
  std::int64_t n_;
};

}  // namespace fourfold::inline engine::inline cpu
