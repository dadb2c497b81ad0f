// The kernels of another backend on memory that is kept apart from the host's, each when somebody
// waits for it.
#pragma once

#include "engine/backend.hpp"
#include "tests/apart_memory.hpp"

namespace fourfold::tests {

class ApartBackend final : public Backend {
 public:
  explicit ApartBackend(Backend& kernels, MemoryReach reach = MemoryReach::device)
      : kernels_(kernels), memory_(reach) {}

  ApartMemory& memory() override { return memory_; }

  void compute(const Device& device, const Op& op, const KernelOperands& operands,
               const ProgressCall& /*progress*/) override {
    KernelOperands real = operands;
    for (Tensor& input : real.inputs) input = at_its_bytes(input);
    real.output = at_its_bytes(real.output);
    memory_.ask([this, device, &op, real] { kernels_.compute(device, op, real, {}); });
  }

  void update(const reference::AdamWStep& step, const UpdateOperands& operands,
              const ProgressCall& /*progress*/) override {
    UpdateOperands real = operands;
    for (Tensor* tensor :
         {&real.gradient, &real.weight, &real.master, &real.first_moment, &real.second_moment}) {
      *tensor = at_its_bytes(*tensor);
    }
    memory_.ask([this, step, real] { kernels_.update(step, real, {}); });
  }

 private:
  // Words have no tensor.
  Tensor at_its_bytes(Tensor tensor) {
    if (tensor.data != nullptr) tensor.data = memory_.bytes_at(tensor.data, tensor.bytes());
    return tensor;
  }

  Backend& kernels_;
  ApartMemory memory_;
};

}  // namespace fourfold::tests
