// Maps of layer norm and RMS norm and the sums of their backward passes, row by row; see
// layer_norm_kernels.hpp.
#include "engine/cpu/layer_norm_kernels.hpp"

#include <cmath>

#include "engine/cpu/map_operands.hpp"
#include "engine/cpu/row_sums.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

// Whether a function is a layer norm's, or an RMS norm's: that has no means and no offsets.
enum class Of : std::uint8_t { layer_norm, rms_norm };

// The norm's input, a layer norm's sums, and the squares stand one after the other from operand
// `first` on.
template <Of norm>
class NormalisedInput {
 public:
  NormalisedInput(const KernelCall& call, std::size_t first)
      : sums_(call.in(first + 1)),
        squares_(call.in(first + statistics)),
        hidden_(static_cast<float>(call.shape(call.op.inputs[first]).cols.value({}))),
        epsilon_(static_cast<float>(call.device.norm_epsilon)),
        rows_(call.in(first), call.scratch.floats(first_slot, call.in(first).cols)) {}

  const float* row(std::int64_t r) const { return rows_.row(r); }
  rows::Normalisation normalisation(std::int64_t r) const {
    const float variance = number(squares_, r) / hidden_;
    const float mean = norm == Of::layer_norm ? number(sums_, r) / hidden_ : 0.0F;
    return {mean, 1.0F / std::sqrt(variance + epsilon_)};
  }
  float hidden() const { return hidden_; }

  static constexpr std::size_t statistics = norm == Of::layer_norm ? 2 : 1;

 private:
  Tensor sums_, squares_;
  float hidden_, epsilon_;
  Reader rows_;
};

template <Of norm>
void forward(const KernelCall& call) {
  const Tensor& out = call.out();
  const NormalisedInput<norm> x(call, 0);
  const float* const scales = parameters(call, x.statistics + 1);
  Pace pace(call.progress);
  const Writer writer(out, call.scratch.floats(first_slot + 3, out.cols));
  for (std::int64_t r = 0; r < out.rows; ++r) {
    if constexpr (norm == Of::layer_norm) {
      rows::layer_norm({x.row(r), scales, scales + out.cols, x.normalisation(r)}, out.cols,
                       writer.row(r));
    } else {
      rows::rms_norm({x.row(r), scales, nullptr, x.normalisation(r)}, out.cols, writer.row(r));
    }
    writer.finish_row(r);
    pace.did(out.cols);
  }
}

template <Of norm>
void backward(const KernelCall& call) {
  const Tensor& out = call.out();
  const Reader gradient = gradient_rows(call);
  const NormalisedInput<norm> x(call, 1);
  const float* const scales = parameters(call, x.statistics + 2);
  const Tensor& sums = call.in(x.statistics + 3);
  Pace pace(call.progress);
  const Writer writer(out, call.scratch.floats(first_slot + 3, out.cols));
  for (std::int64_t r = 0; r < out.rows; ++r) {
    if constexpr (norm == Of::layer_norm) {
      rows::layer_norm_backward(
          {gradient.row(r), x.row(r), scales, x.normalisation(r), number(sums, 2 * r) / x.hidden(),
           number(sums, 2 * r + 1) / x.hidden()},
          out.cols, writer.row(r));
    } else {
      rows::rms_norm_backward({gradient.row(r), x.row(r), scales, x.normalisation(r), 0.0F,
                               number(sums, r) / x.hidden()},
                              out.cols, writer.row(r));
    }
    writer.finish_row(r);
    pace.did(out.cols);
  }
}

template <Of norm>
void backward_sums(const KernelCall& call) {
  const std::int64_t cols = call.in(0).cols;
  const Reader gradient = gradient_rows(call);
  const NormalisedInput<norm> x(call, 1);
  const float* const scales = parameters(call, x.statistics + 2);
  Pace pace(call.progress);
  for (std::int64_t r = 0; r < call.in(0).rows; ++r) {
    const rows::LayerNormBackwardRow row{gradient.row(r), x.row(r), scales, x.normalisation(r)};
    if constexpr (norm == Of::layer_norm) {
      const rows::LayerNormSums sums = rows::layer_norm_sums(row, cols);
      call.out().fp32()[2 * r] = sums.plain;
      call.out().fp32()[2 * r + 1] = sums.weighted;
    } else {
      call.out().fp32()[r] = rows::rms_norm_sum(row, cols);
    }
    pace.did(cols);
  }
}

template <Of norm>
void parameter_gradients(const KernelCall& call) {
  const std::int64_t cols = call.in(0).cols;
  const std::int64_t all = norm == Of::layer_norm ? 2 * cols : cols;
  const Reader gradient = gradient_rows(call);
  const NormalisedInput<norm> x(call, 1);
  const ColumnSums result(call, all);
  float* const sums = result.sums();
  Pace pace(call.progress);
  for (std::int64_t r = 0; r < call.in(0).rows; ++r) {
    rows::accumulate_parameters({gradient.row(r), x.row(r), nullptr, x.normalisation(r)}, cols,
                                {sums, norm == Of::layer_norm ? sums + cols : nullptr});
    pace.did(cols);
  }
  result.write();
}

}  // namespace

std::span<const KernelOf> layer_norm_kernels() {
  static constexpr KernelOf kernels[]{
      {&functions::layer_norm, forward<Of::layer_norm>},
      {&functions::layer_norm_backward, backward<Of::layer_norm>},
      {&functions::layer_norm_sums, backward_sums<Of::layer_norm>},
      {&functions::layer_norm_parameters, parameter_gradients<Of::layer_norm>},
      {&functions::rms_norm, forward<Of::rms_norm>},
      {&functions::rms_norm_backward, backward<Of::rms_norm>},
      {&functions::rms_norm_sums, backward_sums<Of::rms_norm>},
      {&functions::rms_norm_parameters, parameter_gradients<Of::rms_norm>},
  };
  return kernels;
}

}  // namespace fourfold::inline engine::inline cpu
