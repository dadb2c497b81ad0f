// Options of steps that are the usual ones but for their micro-batches, or for their order, too.
#pragma once

#include <cstdint>

#include "schedule/program/step_options.hpp"

namespace fourfold::tests {

inline StepOptions with(PipelineOrder order, std::int64_t micro_batches, std::int64_t chunks = 1) {
  StepOptions options;
  options.order = order;
  options.micro_batches = micro_batches;
  options.chunks = chunks;
  return options;
}

inline StepOptions with_micro_batches(std::int64_t count) {
  StepOptions options;
  options.micro_batches = count;
  return options;
}

}  // namespace fourfold::tests
