// What a framework keeps of a step beside what the step itself keeps, and how it stores state: the
// rules by which its peak memory differs from that of the engine. Values only.
#pragma once

#include <optional>
#include <vector>

#include "schedule/fold/memory.hpp"
#include "schedule/program/function_bytes.hpp"

namespace fourfold::inline schedule::inline fold {

struct MemoryRules {
  std::vector<FunctionBytes> functions;
  // Bytes a parameter; as the step has them if absent. Of fp32 steps nothing but the step's own.
  std::optional<double> weights, optimizer, gradients;
  bool gradients_ahead = false;  // buffers for all of them are there from the beginning
  // Gathered weights are counted by whoever knows the framework's units: those of the step are not.
  bool gathers_units = false;
};

MemoryUse peak_memory(const Folded& folded, const LocalSizes& sizes, const ProcessGrid& grid,
                      const MemoryRules& rules);
std::vector<MemoryUse> peak_memory(const Pipeline& pipeline, const std::vector<LocalSizes>& sizes,
                                   const ProcessGrid& grid, const MemoryRules& rules);

}  // namespace fourfold::inline schedule::inline fold
