// Options of steps that differ in their order, for tests of orders and of their pictures.
#pragma once

#include "schedule/program/step_options.hpp"

namespace fourfold::tests {

inline StepOptions with(PipelineOrder order, std::int64_t micro_batches, std::int64_t chunks = 1) {
  StepOptions options;
  options.order = order;
  options.micro_batches = micro_batches;
  options.chunks = chunks;
  return options;
}

}  // namespace fourfold::tests
