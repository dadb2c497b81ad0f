// Norms of queries and keys head after head, as RMS norms of a head's columns; see
// query_key_norm_kernels.hpp.
#include "engine/cpu/query_key_norm_kernels.hpp"

#include <cmath>

#include "engine/cpu/map_operands.hpp"
#include "engine/cpu/row_sums.hpp"
#include "engine/reference/query_key_norm.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

enum class Over : std::uint8_t { heads, all };

// QKV, operand `first`, with the squares behind it of norms over all heads.
template <Over over>
class Heads {
 public:
  Heads(const KernelCall& call, std::size_t first)
      : call_(call),
        rows_(call.in(first), call.scratch.floats(first_slot, call.in(first).cols)),
        squares_(over == Over::all ? call.in(first + 1) : Tensor{}),
        epsilon_(static_cast<float>(call.device.norm_epsilon)) {
    const Attributes& of = call.op.attributes;
    lies_.qkv = {nullptr, call.in(first).rows, call.in(first).cols};
    // Only whether they are there is asked.
    if (over == Over::all) lies_.squares = {&epsilon_, 1, 1};
    lies_.sizes = {0, call.device.head_columns, of.group, 0};
    lies_.heads = of.heads;
  }

  static constexpr std::size_t operands = over == Over::all ? 2 : 1;
  std::int64_t columns() const { return lies_.sizes.head_columns; }
  const float* row(std::int64_t r) const { return rows_.row(r); }
  rows::Normalisation normalisation(std::int64_t r, const float* head, std::int64_t c) const {
    const float sum = over == Over::all ? number(squares_, 2 * r + lies_.part(c))
                                        : rows::squares(head, 0.0F, columns());
    return {0.0F, 1.0F / std::sqrt(sum / together(c) + epsilon_)};
  }
  // How many columns are normalised together.
  float together(std::int64_t c) const { return static_cast<float>(lies_.columns(c)); }
  std::int64_t scale_of(std::int64_t c) const { return lies_.scale_of(c); }
  std::int64_t part(std::int64_t c) const { return lies_.part(c); }

  // Calls `visit` with each row, and the first column of each of its heads, values' too.
  template <typename Begin, typename Visit, typename End>
  void each(const Begin& begin, const Visit& visit, const End& end) const {
    Pace pace(call_.progress);
    for (std::int64_t r = 0; r < lies_.qkv.rows; ++r) {
      begin(r);
      for (std::int64_t c = 0; c < lies_.qkv.cols; c += columns()) visit(r, c);
      end(r);
      pace.did(lies_.qkv.cols);
    }
  }

 private:
  const KernelCall& call_;
  Reader rows_;
  Tensor squares_;
  float epsilon_;
  reference::QueriesAndKeys<float> lies_;
};

void squares(const KernelCall& call) {
  const Heads<Over::heads> x(call, 0);
  const float* row = nullptr;
  float* const out = call.out().fp32();
  x.each(
      [&](std::int64_t r) {
        row = x.row(r);
        out[2 * r] = out[2 * r + 1] = 0.0F;
      },
      [&](std::int64_t r, std::int64_t c) {
        if (x.part(c) < 2) out[2 * r + x.part(c)] += rows::squares(row + c, 0.0F, x.columns());
      },
      [](std::int64_t) {});
}

template <Over over>
void forward(const KernelCall& call) {
  const Heads<over> x(call, 0);
  const float* const scales = parameters(call, x.operands);
  const Writer writer(call.out(), call.scratch.floats(first_slot + 3, call.out().cols));
  const float* row = nullptr;
  x.each([&](std::int64_t r) { row = x.row(r); },
         [&](std::int64_t r, std::int64_t c) {
           float* const out = writer.row(r) + c;
           if (x.part(c) == 2) return rows::copy(row + c, x.columns(), out);
           rows::rms_norm(
               {row + c, scales + x.scale_of(c), nullptr, x.normalisation(r, row + c, c)},
               x.columns(), out);
         },
         [&](std::int64_t r) { writer.finish_row(r); });
}

void sums(const KernelCall& call) {
  const Reader gradient = gradient_rows(call);
  const Heads<Over::all> x(call, 1);
  const float* const scales = parameters(call, x.operands + 1);
  const float *row = nullptr, *of_row = nullptr;
  float* const out = call.out().fp32();
  x.each(
      [&](std::int64_t r) {
        row = x.row(r);
        of_row = gradient.row(r);
        out[2 * r] = out[2 * r + 1] = 0.0F;
      },
      [&](std::int64_t r, std::int64_t c) {
        if (x.part(c) == 2) return;
        out[2 * r + x.part(c)] += rows::rms_norm_sum(
            {of_row + c, row + c, scales + x.scale_of(c), x.normalisation(r, row + c, c)},
            x.columns());
      },
      [](std::int64_t) {});
}

template <Over over>
void parameter_gradients(const KernelCall& call) {
  const Reader gradient = gradient_rows(call);
  const Heads<over> x(call, 1);
  const ColumnSums result(call, call.out().size());
  const float *row = nullptr, *of_row = nullptr;
  x.each(
      [&](std::int64_t r) {
        row = x.row(r);
        of_row = gradient.row(r);
      },
      [&](std::int64_t r, std::int64_t c) {
        if (x.part(c) == 2) return;
        rows::accumulate_parameters({of_row + c, row + c, nullptr, x.normalisation(r, row + c, c)},
                                    x.columns(), {result.sums() + x.scale_of(c), nullptr});
      },
      [](std::int64_t) {});
  result.write();
}

template <Over over>
void backward(const KernelCall& call) {
  const Reader gradient = gradient_rows(call);
  const Heads<over> x(call, 1);
  const float* const scales = parameters(call, x.operands + 1);
  const Writer writer(call.out(), call.scratch.floats(first_slot + 3, call.out().cols));
  const float *row = nullptr, *of_row = nullptr;
  x.each(
      [&](std::int64_t r) {
        row = x.row(r);
        of_row = gradient.row(r);
      },
      [&](std::int64_t r, std::int64_t c) {
        float* const out = writer.row(r) + c;
        if (x.part(c) == 2) return rows::copy(of_row + c, x.columns(), out);
        rows::LayerNormBackwardRow of{of_row + c, row + c, scales + x.scale_of(c),
                                      x.normalisation(r, row + c, c)};
        const float sum = over == Over::all ? number(call.in(x.operands + 2), 2 * r + x.part(c))
                                            : rows::rms_norm_sum(of, x.columns());
        of.mean_weighted = sum / x.together(c);
        rows::rms_norm_backward(of, x.columns(), out);
      },
      [&](std::int64_t r) { writer.finish_row(r); });
}

}  // namespace

std::span<const KernelOf> query_key_norm_kernels() {
  static constexpr KernelOf kernels[]{
      {&functions::qk_squares, squares},
      {&functions::qk_norm, forward<Over::all>},
      {&functions::qk_norm_sums, sums},
      {&functions::qk_norm_parameters, parameter_gradients<Over::all>},
      {&functions::qk_norm_backward, backward<Over::all>},
      {&functions::head_norm, forward<Over::heads>},
      {&functions::head_norm_parameters, parameter_gradients<Over::heads>},
      {&functions::head_norm_backward, backward<Over::heads>},
  };
  return kernels;
}

}  // namespace fourfold::inline engine::inline cpu
