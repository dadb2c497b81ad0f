// Layer norm's maps and the sums of its backward pass, row by row; see layer_norm_kernels.hpp.
#include "engine/cpu/layer_norm_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "engine/cpu/numbers.hpp"
#include "engine/cpu/row_sums.hpp"
#include "engine/reference/layer_norm.hpp"

namespace fourfold {

namespace {

constexpr std::size_t first_slot = 3;

// The layer norm's input, sums and squares stand one after the other from operand `first` on.
class NormalisedInput {
 public:
  NormalisedInput(const KernelCall& call, std::size_t first)
      : sums_(call.in(first + 1)),
        squares_(call.in(first + 2)),
        hidden_(static_cast<float>(call.shape(call.op.inputs[first]).cols.value({}))),
        rows_(call.in(first), call.scratch.floats(first_slot, call.in(first).cols)) {}

  const float* row(std::int64_t r) const { return rows_.row(r); }
  rows::Normalisation normalisation(std::int64_t r) const {
    const float variance = number(squares_, r) / hidden_;
    const auto epsilon = static_cast<float>(reference::layer_norm_epsilon);
    return {number(sums_, r) / hidden_, 1.0F / std::sqrt(variance + epsilon)};
  }
  float hidden() const { return hidden_; }

 private:
  Tensor sums_, squares_;
  float hidden_;
  Reader rows_;
};

const float* parameters(const KernelCall& call, std::size_t operand) {
  const Tensor& t = call.in(operand);
  return Reader(t, call.scratch.floats(first_slot + 1, t.size())).stretch(0, t.size());
}

void forward(const KernelCall& call) {
  const Tensor& out = call.out();
  const NormalisedInput x(call, 0);
  const float* const scales = parameters(call, 3);
  Pace pace(call.progress);
  const Writer writer(out, call.scratch.floats(first_slot + 3, out.cols));
  for (std::int64_t r = 0; r < out.rows; ++r) {
    rows::layer_norm({x.row(r), scales, scales + out.cols, x.normalisation(r)}, out.cols,
                     writer.row(r));
    writer.finish_row(r);
    pace.did(out.cols);
  }
}

Reader gradient_rows(const KernelCall& call) {
  return {call.in(0), call.scratch.floats(first_slot + 2, call.in(0).cols)};
}

void backward(const KernelCall& call) {
  const Tensor& out = call.out();
  const Reader gradient = gradient_rows(call);
  const NormalisedInput x(call, 1);
  const float* const scales = parameters(call, 4);
  Pace pace(call.progress);
  const Writer writer(out, call.scratch.floats(first_slot + 3, out.cols));
  for (std::int64_t r = 0; r < out.rows; ++r) {
    rows::layer_norm_backward(
        {gradient.row(r), x.row(r), scales, x.normalisation(r),
         number(call.in(5), 2 * r) / x.hidden(), number(call.in(5), 2 * r + 1) / x.hidden()},
        out.cols, writer.row(r));
    writer.finish_row(r);
    pace.did(out.cols);
  }
}

void backward_sums(const KernelCall& call) {
  const std::int64_t cols = call.in(0).cols;
  const Reader gradient = gradient_rows(call);
  const NormalisedInput x(call, 1);
  const float* const scales = parameters(call, 4);
  Pace pace(call.progress);
  for (std::int64_t r = 0; r < call.in(0).rows; ++r) {
    const rows::LayerNormSums sums =
        rows::layer_norm_sums({gradient.row(r), x.row(r), scales, x.normalisation(r)}, cols);
    call.out().fp32()[2 * r] = sums.plain;
    call.out().fp32()[2 * r + 1] = sums.weighted;
    pace.did(cols);
  }
}

void parameter_gradients(const KernelCall& call) {
  const std::int64_t cols = call.in(0).cols;
  const Reader gradient = gradient_rows(call);
  const NormalisedInput x(call, 1);
  float* const sums = call.scratch.floats(first_slot + 3, 2 * cols);
  std::fill_n(sums, 2 * cols, 0.0F);
  Pace pace(call.progress);
  for (std::int64_t r = 0; r < call.in(0).rows; ++r) {
    rows::accumulate_parameters({gradient.row(r), x.row(r), nullptr, x.normalisation(r)}, cols,
                                {sums, sums + cols});
    pace.did(cols);
  }
  const Writer writer(call.out(), sums);
  if (call.out().precision == Precision::fp32) rows::copy(sums, 2 * cols, writer.stretch(0));
  writer.finish(0, 2 * cols);
}

}  // namespace

std::span<const KernelOf> layer_norm_kernels() {
  static constexpr KernelOf kernels[]{
      {&functions::layer_norm, forward},
      {&functions::layer_norm_backward, backward},
      {&functions::layer_norm_sums, backward_sums},
      {&functions::layer_norm_parameters, parameter_gradients},
  };
  return kernels;
}

}  // namespace fourfold
