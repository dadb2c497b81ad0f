// The reference kernels by function; see compute.hpp.
#include "engine/reference/compute.hpp"

#include <stdexcept>
#include <string>

#include "engine/reference/adamw_step.hpp"
#include "engine/reference/attention.hpp"
#include "engine/reference/key_value_cache.hpp"
#include "engine/reference/layer_norm.hpp"
#include "engine/reference/maps.hpp"
#include "engine/reference/matrix.hpp"
#include "engine/reference/query_key_norm.hpp"
#include "engine/reference/rotary.hpp"
#include "engine/reference/unfused_attention.hpp"
#include "engine/reference/vocabulary.hpp"

namespace fourfold::inline engine::inline reference {

namespace {

const Shape& shape_of(const Device& device, Id id) {
  return (*device.program)[id].shape;
}

Part row_part(const Device& device, Id id) {
  const Shape& shape = shape_of(device, id);
  return part_of(shape.rows.value({}), device.grid, device.rank, shape.sharding.rows);
}

Part col_part(const Device& device, Id id) {
  const Shape& shape = shape_of(device, id);
  return part_of(shape.cols.value({}), device.grid, device.rank, shape.sharding.cols);
}

// Of the whole matrix.
std::int64_t columns(const Device& device, Id id) {
  return shape_of(device, id).cols.value({});
}

// The layer norm's input, sums and squares stand one after the other from operand `first` on.
template <typename T>
Normalised<T> normalised(const Device& device, const Op& op, const Operands<T>& o,
                         std::size_t first) {
  return {o.inputs[first], o.inputs[first + 1], o.inputs[first + 2],
          columns(device, op.inputs[first]), device.norm_epsilon};
}

// The RMS norm's, which has no sums.
template <typename T>
Normalised<T> scaled(const Device& device, const Op& op, const Operands<T>& o, std::size_t first) {
  return {o.inputs[first],
          {},
          o.inputs[first + 1],
          columns(device, op.inputs[first]),
          device.norm_epsilon};
}

AttentionSizes sizes_of(const Device& device, const Op& op) {
  return {op.attributes.sequence, device.head_columns, op.attributes.group, op.attributes.window};
}

CacheSizes cache_of(const Device& device, const Op& op) {
  return {sizes_of(device, op), functions::cached_tokens(op.attributes)};
}

// Where every row stands, if each is the newest token of its sequence; -1: rows are sequences.
std::int64_t place_of_rows(const Device& device, const Op& op) {
  return op.attributes.newest ? device.length - 1 : -1;
}

template <typename T>
View<const T> row_at(View<const T> block, std::int64_t row) {
  return {block.values + row * block.cols, 1, block.cols};
}

// QKV, with the squares behind it of norms over all heads.
template <typename T>
QueriesAndKeys<T> queries_and_keys(const Device& device, const Op& op, const Operands<T>& o,
                                   std::size_t first, bool by_head) {
  return {o.inputs[first], by_head ? View<const T>{} : o.inputs[first + 1], sizes_of(device, op),
          op.attributes.heads, device.norm_epsilon};
}

// A bias that may not be there.
template <typename T>
View<const T> last_of(const Operands<T>& o, std::size_t bias) {
  return o.inputs.size() > bias ? o.inputs[bias] : View<const T>{};
}

}  // namespace

template <typename T>
Kernels<T>::Kernels()
    : of_functions_{
          {&functions::layer_norm,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             layer_norm(normalised(device, op, o, 0), o.inputs[3], o.output);
           }},
          {&functions::layer_norm_backward,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             layer_norm_backward(o.inputs[0], normalised(device, op, o, 1), o.inputs[4],
                                 o.inputs[5], o.output);
           }},
          {&functions::rms_norm,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             layer_norm(scaled(device, op, o, 0), o.inputs[2], o.output);
           }},
          {&functions::rms_norm_backward,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             layer_norm_backward(o.inputs[0], scaled(device, op, o, 1), o.inputs[3], o.inputs[4],
                                 o.output);
           }},
          {&functions::rms_norm_sums,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             layer_norm_sums(o.inputs[0], scaled(device, op, o, 1), o.inputs[3], o.output);
           }},
          {&functions::rms_norm_parameters,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             layer_norm_parameters(o.inputs[0], scaled(device, op, o, 1), o.output);
           }},
          {&functions::swiglu,
           [](const Device&, const Op&, const Operands<T>& o) { swiglu(o.inputs[0], o.output); }},
          {&functions::swiglu_backward,
           [](const Device&, const Op&, const Operands<T>& o) {
             swiglu_backward(o.inputs[0], o.inputs[1], o.output);
           }},
          {&functions::rotary,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             rotary({o.inputs[0], sizes_of(device, op), place_of_rows(device, op)},
                    {device.rotary, 1.0}, o.output);
           }},
          {&functions::rotary_backward,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             rotary({o.inputs[0], sizes_of(device, op)}, {device.rotary, -1.0}, o.output);
           }},
          {&functions::bias,
           [](const Device&, const Op&, const Operands<T>& o) {
             add_bias(o.inputs[0], o.inputs[1], o.output);
           }},
          {&functions::bias_gelu,
           [](const Device&, const Op&, const Operands<T>& o) {
             bias_gelu(o.inputs[0], last_of(o, 1), o.output);
           }},
          {&functions::gelu_backward,
           [](const Device&, const Op&, const Operands<T>& o) {
             gelu_backward(o.inputs[0], o.inputs[1], last_of(o, 2), o.output);
           }},
          {&functions::bias_residual,
           [](const Device&, const Op&, const Operands<T>& o) {
             bias_residual(o.inputs[0], o.inputs[1], o.inputs[2], o.output);
           }},
          {&functions::add_position,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             if (op.attributes.newest) {
               return add_bias(o.inputs[0], row_at(o.inputs[1], device.length - 1), o.output);
             }
             add_position(o.inputs[0], o.inputs[1], device.first_row(op.outputs[0], o.output.rows),
                          o.output);
           }},
          {&functions::softmax_loss,
           [](const Device&, const Op&, const Operands<T>& o) {
             softmax_loss(o.inputs[0], o.inputs[1], o.output);
           }},
          {&functions::softmax_backward,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             softmax_backward(Softmax<T>{o.inputs[0], o.inputs[1], o.inputs[2]}, o.tokens,
                              col_part(device, op.inputs[0]), device.step_targets, o.output);
           }},
          {&functions::cast,
           [](const Device&, const Op&, const Operands<T>& o) { copy(o.inputs[0], o.output); }},
          {&functions::norm_factor,
           [](const Device& device, const Op&, const Operands<T>& o) {
             T squares = 0;
             for (const auto& part : o.inputs) squares += part[0];
             o.output[0] = clip_factor(squares, device.clip_norm);
           }},
          {&functions::row_sum,
           [](const Device&, const Op&, const Operands<T>& o) { row_sum(o.inputs[0], o.output); }},
          {&functions::row_squares,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             row_squares(o.inputs[0], last_of(o, 1), columns(device, op.inputs[0]), o.output);
           }},
          {&functions::row_max,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             row_max(o.inputs[0], col_part(device, op.inputs[0]), o.output);
           }},
          {&functions::row_exp_and_target,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             row_exp_and_target(o.inputs[0], o.inputs[1], o.tokens, col_part(device, op.inputs[0]),
                                o.output);
           }},
          {&functions::layer_norm_sums,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             layer_norm_sums(o.inputs[0], normalised(device, op, o, 1), o.inputs[4], o.output);
           }},
          {&functions::layer_norm_parameters,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             layer_norm_parameters(o.inputs[0], normalised(device, op, o, 1), o.output);
           }},
          {&functions::col_sum,
           [](const Device&, const Op&, const Operands<T>& o) { col_sum(o.inputs[0], o.output); }},
          {&functions::position_sum,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             position_sum(o.inputs[0], device.first_row(op.inputs[0], o.inputs[0].rows), o.output);
           }},
          {&functions::square_sum, [](const Device&, const Op&,
                                      const Operands<T>& o) { square_sum(o.inputs[0], o.output); }},
          {&functions::loss_sum, [](const Device&, const Op&,
                                    const Operands<T>& o) { sum_of_all(o.inputs[0], o.output); }},
          {&functions::attention,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             attention_forward(o.inputs[0], sizes_of(device, op), o.output);
           }},
          {&functions::attention_backward,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             attention_backward(o.inputs[0], o.inputs[1], o.inputs[2], sizes_of(device, op),
                                o.output);
           }},
          {&functions::keep_keys_and_values,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             keep_keys_and_values(o.inputs[0], cache_of(device, op), device.length, o.output);
           }},
          {&functions::attention_to_cache,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             attention_to_cache(o.inputs[0], cache_of(device, op), device.length, o.written,
                                o.output);
           }},
          {&functions::last_of_sequence,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             last_of_sequence(o.inputs[0], op.attributes.sequence, device.length, o.output);
           }},
          {&functions::causal_softmax,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             causal_softmax(o.inputs[0], sizes_of(device, op), o.output);
           }},
          {&functions::causal_softmax_backward,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             causal_softmax_backward(o.inputs[0], o.inputs[1], sizes_of(device, op), o.output);
           }},
          {&functions::qk_squares,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             qk_squares(queries_and_keys(device, op, o, 0, true), o.output);
           }},
          {&functions::qk_norm,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             qk_norm(queries_and_keys(device, op, o, 0, false), o.inputs[2], o.output);
           }},
          {&functions::qk_norm_sums,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             qk_norm_sums(o.inputs[0], queries_and_keys(device, op, o, 1, false), o.inputs[3],
                          o.output);
           }},
          {&functions::qk_norm_parameters,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             qk_norm_parameters(o.inputs[0], queries_and_keys(device, op, o, 1, false), o.output);
           }},
          {&functions::qk_norm_backward,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             qk_norm_backward(o.inputs[0], queries_and_keys(device, op, o, 1, false), o.inputs[3],
                              o.inputs[4], o.output);
           }},
          {&functions::head_norm,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             qk_norm(queries_and_keys(device, op, o, 0, true), o.inputs[1], o.output);
           }},
          {&functions::head_norm_parameters,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             qk_norm_parameters(o.inputs[0], queries_and_keys(device, op, o, 1, true), o.output);
           }},
          {&functions::head_norm_backward,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             qk_norm_backward(o.inputs[0], queries_and_keys(device, op, o, 1, true), o.inputs[2],
                              View<const T>{}, o.output);
           }},
          {&functions::lookup,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             lookup_forward(o.inputs[0], o.tokens, row_part(device, op.inputs[0]), o.output);
           }},
          {&functions::lookup_backward,
           [](const Device& device, const Op& op, const Operands<T>& o) {
             lookup_backward(o.inputs[0], o.tokens, row_part(device, op.outputs[0]), o.output);
           }},
      } {}

template <typename T>
void Kernels<T>::compute(const Device& device, const Op& op, const Operands<T>& operands) const {
  if (op.kind == OpKind::gemm) {
    return gemm(op.form, operands.inputs[0], operands.inputs[1], operands.output);
  }
  if (op.kind == OpKind::add) return fourfold::reference::add(operands.inputs, operands.output);
  for (const HeadProduct& product : op.function->products) {
    multiply_heads(product, operands.inputs, sizes_of(device, op), operands.output);
  }
  if (!op.function->products.empty()) return;
  for (const Kernel<T>& kernel : of_functions_) {
    if (kernel.function == op.function) return kernel.compute(device, op, operands);
  }
  throw std::logic_error(std::string("reference kernels: no kernel for ") + op.verb() + " " +
                         op.function->name);
}

template class Kernels<float>;
template class Kernels<double>;

}  // namespace fourfold::inline engine::inline reference
