// Biases, residuals, GELU, SwiGLU, positions, casts and sums of tensors, row by row; see
// map_kernels.hpp.
#include "engine/cpu/map_kernels.hpp"

#include <algorithm>

#include "engine/cpu/map_operands.hpp"
#include "engine/cpu/rotary_table.hpp"
#include "engine/reference/adamw_step.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

// Rows of up to three operands and of the result.
class Rows {
 public:
  explicit Rows(const KernelCall& call) : call_(call), pace_(call.progress) {}

  Reader reader(std::size_t operand) {
    const Tensor& t = call_.in(operand);
    return {t, call_.scratch.floats(first_slot + operand, t.cols)};
  }
  // A vector that is added to every row: zeros where there is none.
  const float* vector(std::size_t operand) {
    if (operand < call_.operands.inputs.size()) return reader(operand).row(0);
    float* const zeros = call_.scratch.floats(first_slot + operand, call_.out().cols);
    std::fill_n(zeros, call_.out().cols, 0.0F);
    return zeros;
  }

  template <typename Body>
  void for_each(const Body& body) {
    const Tensor& out = call_.out();
    const Writer writer(out, call_.scratch.floats(first_slot + 3, out.cols));
    for (std::int64_t r = 0; r < out.rows; ++r) {
      body(r, writer.row(r));
      writer.finish_row(r);
      pace_.did(out.cols);
    }
  }

 private:
  const KernelCall& call_;
  Pace pace_;
};

void add_bias(const KernelCall& call) {
  Rows rows(call);
  const Reader input = rows.reader(0);
  const float* bias = rows.vector(1);
  rows.for_each(
      [&](std::int64_t r, float* out) { rows::add(input.row(r), bias, call.out().cols, out); });
}

void bias_gelu(const KernelCall& call) {
  Rows rows(call);
  const Reader input = rows.reader(0);
  const float* bias = rows.vector(1);
  rows.for_each([&](std::int64_t r, float* out) {
    rows::bias_gelu(input.row(r), bias, call.out().cols, out);
  });
}

void gelu_backward(const KernelCall& call) {
  Rows rows(call);
  const Reader gradient = rows.reader(0);
  const Reader input = rows.reader(1);
  const float* bias = rows.vector(2);
  rows.for_each([&](std::int64_t r, float* out) {
    rows::gelu_backward({gradient.row(r), input.row(r), bias}, call.out().cols, out);
  });
}

void swiglu(const KernelCall& call) {
  Rows rows(call);
  const Reader pairs = rows.reader(0);
  rows.for_each(
      [&](std::int64_t r, float* out) { rows::swiglu(pairs.row(r), call.out().cols, out); });
}

void swiglu_backward(const KernelCall& call) {
  Rows rows(call);
  const Reader gradient = rows.reader(0);
  const Reader pairs = rows.reader(1);
  rows.for_each([&](std::int64_t r, float* out) {
    rows::swiglu_backward(gradient.row(r), pairs.row(r), call.in(0).cols, out);
  });
}

// Values stay, as does all of a row that is turned in its own memory.
template <int direction>
void rotary(const KernelCall& call) {
  Rows rows(call);
  const Reader input = rows.reader(0);
  const std::int64_t d = call.device.head_columns, half = d / 2, group = call.op.attributes.group;
  const float* const table = call.rotary.of(call.device.rotary, {call.op.attributes.sequence, d});
  const float* const sines = table + call.op.attributes.sequence * half;
  rows.for_each([&](std::int64_t r, float* out) {
    const float* const in = input.row(r);
    const Attributes& of = call.op.attributes;
    const std::int64_t at = (of.newest ? call.device.length - 1 : r % of.sequence) * half;
    const rows::Angles angles{table + at, sines + at, static_cast<float>(direction)};
    for (std::int64_t head = 0; head * d < call.out().cols; ++head) {
      const std::int64_t first = head * d;
      if (head % (group + 2) == group + 1) {
        rows::copy(in + first, d, out + first);
      } else {
        rows::turn({in + first, in + first + half}, angles, half, out + first);
      }
    }
  });
}

void bias_residual(const KernelCall& call) {
  Rows rows(call);
  const Reader input = rows.reader(0);
  const float* bias = rows.vector(1);
  const Reader residual = rows.reader(2);
  rows.for_each([&](std::int64_t r, float* out) {
    rows::bias_residual(input.row(r), bias, residual.row(r), call.out().cols, out);
  });
}

void add_position(const KernelCall& call) {
  Rows rows(call);
  const Reader input = rows.reader(0);
  const Reader positions = rows.reader(1);
  const std::int64_t sequence = call.in(1).rows;
  const std::int64_t first = call.device.first_row(call.op.outputs[0], call.out().rows);
  const bool newest = call.op.attributes.newest;
  rows.for_each([&](std::int64_t r, float* out) {
    const std::int64_t place = newest ? call.device.length - 1 : (first + r) % sequence;
    rows::add(input.row(r), positions.row(place), call.out().cols, out);
  });
}

void cast(const KernelCall& call) {
  const Tensor& out = call.out();
  if (out.data == call.in(0).data) return;  // of one precision: there is nothing to do
  Pace pace(call.progress);
  const Reader input(call.in(0), call.scratch.floats(first_slot, stretch_numbers));
  const Writer writer(out, call.scratch.floats(first_slot + 3, stretch_numbers));
  for (std::int64_t i = 0; i < out.size(); i += stretch_numbers) {
    const std::int64_t n = std::min(stretch_numbers, out.size() - i);
    rows::copy(input.stretch(i, n), n, writer.stretch(i));
    writer.finish(i, n);
    pace.did(n);
  }
}

void norm_factor(const KernelCall& call) {
  float squares = 0.0F;
  for (const Tensor& part : call.operands.inputs) squares += number(part, 0);
  call.out().fp32()[0] = reference::clip_factor(squares, call.device.clip_norm);
}

}  // namespace

std::span<const KernelOf> map_kernels() {
  static constexpr KernelOf kernels[]{
      {&functions::bias, add_bias},
      {&functions::bias_gelu, bias_gelu},
      {&functions::gelu_backward, gelu_backward},
      {&functions::swiglu, swiglu},
      {&functions::swiglu_backward, swiglu_backward},
      {&functions::rotary, rotary<1>},
      {&functions::rotary_backward, rotary<-1>},
      {&functions::bias_residual, bias_residual},
      {&functions::add_position, add_position},
      {&functions::cast, cast},
      {&functions::norm_factor, norm_factor},
  };
  return kernels;
}

// The sum of a stretch is formed aside: the result may be the memory of any operand.
void compute_add(const KernelCall& call) {
  const Tensor& out = call.out();
  Pace pace(call.progress);
  float* const widened = call.scratch.floats(first_slot, 2 * stretch_numbers);
  const Writer writer(out, call.scratch.floats(first_slot + 3, stretch_numbers));
  float* const sums = call.scratch.floats(first_slot + 4, stretch_numbers);
  const std::size_t count = call.operands.inputs.size();
  for (std::int64_t i = 0; i < out.size(); i += stretch_numbers) {
    const std::int64_t n = std::min(stretch_numbers, out.size() - i);
    const float* so_far = Reader(call.in(0), widened).stretch(i, n);
    for (std::size_t k = 1; k < count; ++k) {
      float* const to = k + 1 < count ? sums : writer.stretch(i);
      rows::add(so_far, Reader(call.in(k), widened + stretch_numbers).stretch(i, n), n, to);
      so_far = sums;
    }
    if (count == 1) rows::copy(so_far, n, writer.stretch(i));
    writer.finish(i, n);
    pace.did(n);
  }
}

}  // namespace fourfold::inline engine::inline cpu
