// Fills every value of a recorded step; see step_values.hpp.
#include "bench/measure/step_values.hpp"

#include <random>

#include "schedule/order/step.hpp"

namespace fourfold {

StepValues::StepValues(const Workload& workload, const StepOptions& options)
    : workload_(workload), program_(record_step(workload.model, options)) {
  for (const Value& value : program_.values) {
    const Id id = static_cast<Id>(&value - program_.values.data());
    const bool flat = !value.members.empty();
    Tensor t{nullptr, flat ? 1 : value.shape.local_rows(grid_, {tokens()}),
             flat ? program_.local_elements(id, grid_, {tokens()})
                  : value.shape.local_cols(grid_, {tokens()}),
             value.precision};
    memory_.push_back(std::make_unique<std::byte[]>(static_cast<std::size_t>(t.bytes() + 64)));
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.back().get());
    t.data = memory_.back().get() + (64 - address % 64) % 64;
    for (std::int64_t i = 0; i < t.size(); ++i) {
      if (t.precision == Precision::fp32) t.fp32()[i] = 0.01F * static_cast<float>(i % 97 + 1);
      if (t.precision == Precision::bf16) {
        t.bf16()[i] = static_cast<std::uint16_t>(0x3c00 + i % 97);
      }
    }
    tensors_.push_back(t);
  }
  std::mt19937 random(1);
  for (std::int64_t i = 0; i < tokens(); ++i) {
    words_.push_back(static_cast<std::int32_t>(
        random() % static_cast<std::uint64_t>(workload.model.vocabulary)));
  }
  const Model& model = workload.model;
  device_ = {&program_, grid_, 0, model.head_columns(), tokens(), 1.0, model.norm_epsilon,
             model.rotary};
}

bool StepValues::is_kernel(const Op& op) {
  return !is_collective(op.kind) && op.kind != OpKind::pack && op.kind != OpKind::unpack;
}

double StepValues::bytes(const Op& op) const {
  double sum = 0.0;
  for (Id id : op.inputs) sum += static_cast<double>((*this)[id].bytes());
  for (Id id : op.outputs) sum += static_cast<double>((*this)[id].bytes());
  return sum;
}

void StepValues::run(TunedBackend& backend, const Op& op) const {
  if (op.kind == OpKind::update) return update(backend, op);
  KernelOperands operands;
  for (Id input : op.inputs) operands.inputs.push_back((*this)[input]);
  operands.words = words_;
  operands.output = (*this)[op.outputs[0]];
  backend.compute(device_, op, operands, {});
}

void StepValues::update(TunedBackend& backend, const Op& op) const {
  std::int64_t first = 0;
  for (const Parameter& parameter : op.updated()) {
    const Tensor& master = (*this)[parameter.master];
    Tensor gradient = (*this)[op.inputs[0]];
    gradient.data += first * bytes_per_element(gradient.precision);
    gradient.cols = master.size();
    backend.update({{}, 2, 0.1},
                   {gradient, 1.0F, (*this)[parameter.weight], master,
                    (*this)[parameter.first_moment], (*this)[parameter.second_moment]},
                   {});
    first += master.size();
  }
}

}  // namespace fourfold
