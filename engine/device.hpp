// The device a kernel runs on, as far as kernels ask: its place on the grid, and the step's sizes.
#pragma once

#include <cstdint>

#include "schedule/program.hpp"

namespace fourfold {

// What a kernel has to know beside its operands: nothing here differs between two operations.
struct Device {
  const Program* program = nullptr;
  ProcessGrid grid;
  std::int64_t rank = 0;
  std::int64_t head_columns = 0;  // hidden / heads
  std::int64_t step_tokens = 0;   // of all micro-batches on all devices: the loss is their mean
  double clip_norm = 1.0;
};

}  // namespace fourfold
