// Tensors to and from the matrices that the reference kernels know; see reference_backend.hpp.
#include "engine/cpu/reference_backend.hpp"

#include <algorithm>

#include "engine/bf16.hpp"
#include "engine/cpu/checks.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

// Whether the kernels, which know fp32, read and write it where it lies.
bool is_direct(const Tensor& tensor) {
  return tensor.precision == Precision::fp32;
}

// A tensor read as fp32: its own memory, or a widened copy. Whole numbers must be less than 2^24.
class Widened {
 public:
  explicit Widened(const Tensor& tensor) : tensor_(tensor) {
    if (is_direct(tensor)) return;
    copy_ = Matrix<float>(tensor.rows, tensor.cols);
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      copy_.values[static_cast<std::size_t>(i)] = tensor.precision == Precision::bf16
                                                      ? from_bf16_bits(tensor.bf16()[i])
                                                      : static_cast<float>(tensor.int32()[i]);
    }
  }
  View<const float> view() const {
    if (!is_direct(tensor_)) return copy_.view();
    return {tensor_.fp32(), tensor_.rows, tensor_.cols};
  }
  // Of what is not direct.
  const Matrix<float>& copy() const { return copy_; }

 private:
  Tensor tensor_;
  Matrix<float> copy_;
};

void narrow(const float* from, const Tensor& to) {
  for (std::int64_t i = 0; i < to.size(); ++i) {
    if (to.precision == Precision::bf16) {
      to.bf16()[i] = bf16_bits(from[i]);
    } else {
      to.int32()[i] = static_cast<std::int32_t>(from[i]);
    }
  }
}

View<float> fp32_view(const Tensor& tensor) {
  return {tensor.fp32(), tensor.rows, tensor.cols};
}

}  // namespace

void ReferenceBackend::compute(const Device& device, const Op& op, const KernelOperands& operands,
                               const ProgressCall& progress) {
  check_operands(device, op, operands);
  std::vector<Widened> inputs(operands.inputs.begin(), operands.inputs.end());
  reference::Operands<float> of_reference;
  for (const Widened& input : inputs) of_reference.inputs.push_back(input.view());
  of_reference.tokens = operands.words;
  const Tensor& out = operands.output;
  Matrix<float> result;
  if (!is_direct(out)) result = Matrix<float>(out.rows, out.cols);
  of_reference.output = is_direct(out) ? fp32_view(out) : result.view();
  Matrix<float> kept;
  const std::size_t written = op.function->writes;
  const Tensor in_place = written > 0 ? operands.inputs[written] : Tensor{};
  if (!is_direct(in_place)) {
    kept = inputs[written].copy();
    of_reference.written = kept.view();
  } else {
    of_reference.written = fp32_view(in_place);
  }
  kernels_.compute(device, op, of_reference);
  if (!is_direct(in_place)) narrow(kept.values.data(), in_place);
  if (!is_direct(out)) narrow(result.values.data(), out);
  if (progress) progress();
}

void ReferenceBackend::update(const reference::AdamWStep& step, const UpdateOperands& operands,
                              const ProgressCall& progress) {
  check_operands(operands);
  const Widened gradient(operands.gradient);
  const reference::Shard<float> shard{fp32_view(operands.master), fp32_view(operands.first_moment),
                                      fp32_view(operands.second_moment)};
  reference::adamw(step, gradient.view(), operands.factor, shard);
  if (operands.weight.precision == Precision::bf16) {
    narrow(shard.master.values, operands.weight);
  } else if (operands.weight.data != operands.master.data) {
    std::copy_n(operands.master.fp32(), operands.master.size(), operands.weight.fp32());
  }
  if (progress) progress();
}

}  // namespace fourfold::inline engine::inline cpu
