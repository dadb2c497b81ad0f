// Allocates and fills the values of a step; see step_values.hpp.
#include "engine/train/measure/step_values.hpp"

#include "schedule/order/step.hpp"

namespace fourfold::inline engine::inline train::inline measure {

StepOptions in_fp32() {
  StepOptions options;
  options.precision = Precision::fp32;
  return options;
}

Program recorded_in_fp32(const Model& model) {
  return record_step(model, in_fp32());
}

StepValues::StepValues(const Model& model, std::int64_t sequences, const StepOptions& options)
    : program_(record_step(model, options)) {
  const ProcessGrid alone;
  const std::int64_t tokens = sequences * model.sequence;
  for (std::size_t i = 0; i < program_.values.size(); ++i) {
    const Value& value = program_.values[i];
    const bool flat = !value.members.empty();
    const std::int64_t rows = flat ? 1 : value.shape.local_rows(alone, {tokens});
    const std::int64_t cols = flat ? program_.local_elements(static_cast<Id>(i), alone, {tokens})
                                   : value.shape.local_cols(alone, {tokens});
    Tensor tensor{nullptr, rows, cols, value.precision};
    blocks_.push_back(memory_.allocate(tensor.bytes()));
    tensor.data = blocks_.back().data();
    for (std::int64_t k = 0; k < tensor.size(); ++k) {
      if (tensor.precision == Precision::fp32) {
        tensor.fp32()[k] = 0.01F * static_cast<float>(k % 97 + 1);
      } else {
        tensor.bf16()[k] = static_cast<std::uint16_t>(0x3c00 + k % 97);
      }
    }
    tensors_.push_back(tensor);
  }
  for (std::int64_t i = 0; i < tokens; ++i) {
    words_.push_back(static_cast<std::int32_t>(i * 7919 % model.vocabulary));
  }
  device_ = {&program_,          alone,       0, model.head_columns(), tokens, 1.0,
             model.norm_epsilon, model.rotary};
}

bool StepValues::is_kernel(const Op& op) {
  return !is_collective(op.kind) && !is_message(op.kind) && op.kind != OpKind::pack &&
         op.kind != OpKind::unpack && op.kind != OpKind::cut && op.kind != OpKind::view &&
         op.kind != OpKind::choose && !is_host_copy(op.kind);
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
    gradient.rows = 1;
    gradient.cols = master.size();
    backend.update({{}, 2, 0.1},
                   {gradient, 1.0F, (*this)[parameter.weight], master,
                    (*this)[parameter.first_moment], (*this)[parameter.second_moment]},
                   {});
    first += master.size();
  }
}

}  // namespace fourfold::inline engine::inline train::inline measure
