// Dispatch to the reference kernels; see reference_compute.hpp.
#include "engine/reference/compute.hpp"

#include <stdexcept>
#include <string>

#include "engine/reference/adamw_step.hpp"
#include "engine/reference/attention.hpp"
#include "engine/reference/layer_norm.hpp"
#include "engine/reference/maps.hpp"
#include "engine/reference/matrix.hpp"
#include "engine/reference/vocabulary.hpp"

namespace fourfold::reference {

namespace {

[[noreturn]] void unknown(const Op& op) {
  throw std::logic_error(std::string("reference kernels: no kernel for ") + name(op.kind) + " " +
                         name(op.function));
}

const Shape& shape_of(const Device& device, Id id) {
  return (*device.program)[id].shape;
}

Part row_part(const Device& device, Id id) {
  const Shape& shape = shape_of(device, id);
  return part_of(shape.rows, device.grid, device.rank, shape.sharding.rows);
}

Part col_part(const Device& device, Id id) {
  const Shape& shape = shape_of(device, id);
  return part_of(shape.cols, device.grid, device.rank, shape.sharding.cols);
}

// The layer norm's input, sums and squares stand one after the other from operand `first` on.
template <typename T>
Normalised<T> normalised(const Device& device, const Op& op, const Operands<T>& o,
                         std::size_t first) {
  return {o.inputs[first], o.inputs[first + 1], o.inputs[first + 2],
          shape_of(device, op.inputs[first]).cols};
}

template <typename T>
void map(const Device& device, const Op& op, const Operands<T>& o) {
  const auto& in = o.inputs;
  switch (op.function) {
    case Function::layer_norm:
      return layer_norm(normalised(device, op, o, 0), in[3], o.output);
    case Function::layer_norm_backward:
      return layer_norm_backward(in[0], normalised(device, op, o, 1), in[4], in[5], o.output);
    case Function::bias:
      return add_bias(in[0], in[1], o.output);
    case Function::bias_gelu:
      return bias_gelu(in[0], in[1], o.output);
    case Function::gelu_backward:
      return gelu_backward(in[0], in[1], in[2], o.output);
    case Function::bias_residual:
      return bias_residual(in[0], in[1], in[2], o.output);
    case Function::add_position:
      return add_position(in[0], in[1], o.output);
    case Function::softmax_loss:
      return softmax_loss(in[0], in[1], o.output);
    case Function::softmax_backward:
      return softmax_backward(Softmax<T>{in[0], in[1], in[2]}, o.tokens,
                              col_part(device, op.inputs[0]), device.step_tokens, o.output);
    case Function::cast:
      return copy(in[0], o.output);
    case Function::norm_factor:
      o.output[0] = clip_factor(in[0][0] + in[1][0], device.clip_norm);
      return;
    default:
      unknown(op);
  }
}

template <typename T>
void reduce(const Device& device, const Op& op, const Operands<T>& o) {
  const auto& in = o.inputs;
  switch (op.function) {
    case Function::row_sum:
      return row_sum(in[0], o.output);
    case Function::row_squares:
      return row_squares(in[0], in[1], shape_of(device, op.inputs[0]).cols, o.output);
    case Function::row_max:
      return row_max(in[0], col_part(device, op.inputs[0]), o.output);
    case Function::row_exp_and_target:
      return row_exp_and_target(in[0], in[1], o.tokens, col_part(device, op.inputs[0]), o.output);
    case Function::layer_norm_sums:
      return layer_norm_sums(in[0], normalised(device, op, o, 1), in[4], o.output);
    case Function::layer_norm_parameters:
      return layer_norm_parameters(in[0], normalised(device, op, o, 1), o.output);
    case Function::col_sum:
      return col_sum(in[0], o.output);
    case Function::position_sum:
      return position_sum(in[0], o.output);
    case Function::square_sum:
      return square_sum(in[0], o.output);
    case Function::loss_sum:
      return sum_of_all(in[0], o.output);
    default:
      unknown(op);
  }
}

template <typename T>
void attention(const Device& device, const Op& op, const Operands<T>& o) {
  const AttentionSizes sizes{op.sequence, device.head_columns};
  if (op.function == Function::forward) return attention_forward(o.inputs[0], sizes, o.output);
  attention_backward(o.inputs[0], o.inputs[1], o.inputs[2], sizes, o.output);
}

template <typename T>
void lookup(const Device& device, const Op& op, const Operands<T>& o) {
  if (op.function == Function::forward) {
    return lookup_forward(o.inputs[0], o.tokens, row_part(device, op.inputs[0]), o.output);
  }
  lookup_backward(o.inputs[0], o.tokens, row_part(device, op.outputs[0]), o.output);
}

}  // namespace

template <typename T>
void compute(const Device& device, const Op& op, const Operands<T>& operands) {
  switch (op.kind) {
    case OpKind::gemm:
      return gemm(op.form, operands.inputs[0], operands.inputs[1], operands.output);
    case OpKind::attention:
      return attention(device, op, operands);
    case OpKind::lookup:
      return lookup(device, op, operands);
    case OpKind::map:
      return map(device, op, operands);
    case OpKind::reduce:
      return reduce(device, op, operands);
    case OpKind::add:
      return add(operands.inputs, operands.output);
    default:
      unknown(op);
  }
}

template void compute(const Device&, const Op&, const Operands<float>&);
template void compute(const Device&, const Op&, const Operands<double>&);

}  // namespace fourfold::reference
