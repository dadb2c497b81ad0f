// One call of a kernel: the operation, its operands, memory to work in and whom to let in between.
#pragma once

#include <span>

#include "engine/backend.hpp"
#include "engine/cpu/scratch.hpp"
#include "engine/plan/block_place.hpp"

namespace fourfold::inline engine::inline cpu {

// Lets collectives advance about every 50 us: after so many numbers of element-wise work.
class Pace {
 public:
  explicit Pace(const ProgressCall& progress) : progress_(progress) {}
  void did(std::int64_t numbers) {
    since_ += numbers;
    if (since_ < numbers_between) return;
    since_ = 0;
    if (progress_) progress_();
  }

 private:
  static constexpr std::int64_t numbers_between = 1 << 18;
  const ProgressCall& progress_;
  std::int64_t since_ = 0;
};

class RotaryTable;

struct KernelCall {
  const Device& device;
  const Op& op;
  const KernelOperands& operands;
  Scratch& scratch;
  const ProgressCall& progress;
  RotaryTable& rotary;

  const Tensor& in(std::size_t i) const { return operands.inputs[i]; }
  const Tensor& out() const { return operands.output; }
  const Shape& shape(Id id) const { return (*device.program)[id].shape; }
  // This device's share of a value's rows and columns.
  Part row_part(Id id) const {
    return part_of(shape(id).rows.value({}), device.grid, device.rank, shape(id).sharding.rows);
  }
  Part col_part(Id id) const {
    return part_of(shape(id).cols.value({}), device.grid, device.rank, shape(id).sharding.cols);
  }
};

// The kernel of a function: one row of a backend's table.
struct KernelOf {
  const Function* function;
  void (*compute)(const KernelCall& call);
};

}  // namespace fourfold::inline engine::inline cpu
