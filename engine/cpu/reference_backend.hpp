// The slow and obvious backend: the referee's own fp32 kernels on tensors, so that what an executor
// computes with it equals lockstep bit by bit.
#pragma once

#include "engine/backend.hpp"
#include "engine/host_memory.hpp"
#include "engine/reference/compute.hpp"

namespace fourfold::inline engine::inline cpu {

// Operands in bf16 are widened whole and results rounded once, as lockstep does where precision is
// as recorded.
class ReferenceBackend : public Backend {
 public:
  DeviceMemory& memory() override { return memory_; }
  void compute(const Device& device, const Op& op, const KernelOperands& operands,
               const ProgressCall& progress) override;
  void update(const reference::AdamWStep& step, const UpdateOperands& operands,
              const ProgressCall& progress) override;
  // A function of one's own: its description says the rest.
  void add_kernel(const reference::Kernel<float>& kernel) { kernels_.add(kernel); }

 private:
  HostMemory memory_;
  reference::Kernels<float> kernels_;
};

}  // namespace fourfold::inline engine::inline cpu
