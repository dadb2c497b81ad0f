// Groups of kernels that reports tell apart: matrix products, each family of functions, what is
// bound by memory (maps, reductions, additions, lookups, copies to the host and back), and the
// optimizer.
#pragma once

#include "schedule/program/program.hpp"

namespace fourfold::inline schedule::inline program {

using KernelGroup = std::size_t;
inline constexpr KernelGroup product_group = 0;
inline constexpr KernelGroup memory_group = 1 + functions::family_count;
inline constexpr KernelGroup optimizer_group = memory_group + 1;
inline constexpr std::size_t kernel_groups = optimizer_group + 1;

constexpr KernelGroup kernel_group(OpKind kind, const Function& function) {
  if (kind == OpKind::gemm) return product_group;
  if (kind == OpKind::update) return optimizer_group;
  return function.family == nullptr ? memory_group : 1 + functions::family_number(function);
}
// As in sentences: "matrix products".
constexpr const char* group_title(KernelGroup group) {
  if (group == product_group) return "matrix products";
  if (group == optimizer_group) return "optimizer";
  return group == memory_group ? "memory-bound kernels" : functions::families[group - 1]->name;
}
// As in records: "product".
constexpr const char* group_key(KernelGroup group) {
  if (group == product_group) return "product";
  if (group == optimizer_group) return "update";
  return group == memory_group ? "map" : functions::families[group - 1]->name;
}

}  // namespace fourfold::inline schedule::inline program
