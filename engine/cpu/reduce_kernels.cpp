// Sums along rows, columns and everything; see reduce_kernels.hpp. Sums of columns are formed four
// rows at a time in fp32; sums of everything stretch by stretch, those in double.
#include "engine/cpu/reduce_kernels.hpp"

#include <algorithm>

#include "engine/cpu/map_operands.hpp"
#include "engine/cpu/row_sums.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

void row_sum(const KernelCall& call) {
  const Tensor& x = call.in(0);
  Pace pace(call.progress);
  const Reader input(x, call.scratch.floats(first_slot, x.cols));
  for (std::int64_t r = 0; r < x.rows; ++r) {
    call.out().fp32()[r] = rows::sum(input.row(r), x.cols);
    pace.did(x.cols);
  }
}

void row_squares(const KernelCall& call) {
  const Tensor& x = call.in(0);
  Pace pace(call.progress);
  const auto hidden = static_cast<float>(call.shape(call.op.inputs[0]).cols.value({}));
  const Reader input(x, call.scratch.floats(first_slot, x.cols));
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float mean = call.operands.inputs.size() > 1 ? number(call.in(1), r) / hidden : 0.0F;
    call.out().fp32()[r] = rows::squares(input.row(r), mean, x.cols);
    pace.did(x.cols);
  }
}

void col_sum(const KernelCall& call) {
  const Tensor& x = call.in(0);
  const ColumnSums result(call, x.cols);
  Pace pace(call.progress);
  const Reader input(x, call.scratch.floats(first_slot, 4 * x.cols));
  std::int64_t r = 0;
  for (; r + 4 <= x.rows; r += 4) {
    rows::accumulate_four(input.stretch(r * x.cols, 4 * x.cols), x.cols, x.cols, result.sums());
    pace.did(4 * x.cols);
  }
  for (; r < x.rows; ++r) rows::accumulate(input.row(r), x.cols, result.sums());
  result.write();
}

// Rows of one position lie `sequence` apart; they are added up position by position.
void position_sum(const KernelCall& call) {
  const Tensor& x = call.in(0);
  const Tensor& out = call.out();
  Pace pace(call.progress);
  const Reader input(x, call.scratch.floats(first_slot, x.cols));
  const Writer writer(out, call.scratch.floats(first_slot + 1, x.cols));
  const std::int64_t first = call.device.first_row(call.op.inputs[0], x.rows) % out.rows;
  for (std::int64_t p = 0; p < out.rows; ++p) {
    float* const sums = writer.row(p);
    std::int64_t r = (p - first + out.rows) % out.rows;
    if (r < x.rows) {
      rows::copy(input.row(r), x.cols, sums);
    } else {
      std::fill_n(sums, x.cols, 0.0F);  // another device has the position
    }
    for (r += out.rows; r < x.rows; r += out.rows) rows::accumulate(input.row(r), x.cols, sums);
    writer.finish_row(p);
    pace.did(x.cols * (x.rows / out.rows));
  }
}

template <typename Sum>
void total(const KernelCall& call, const Sum& sum_of_stretch) {
  const Tensor& x = call.in(0);
  Pace pace(call.progress);
  const Reader input(x, call.scratch.floats(first_slot, stretch_numbers));
  double sum = 0.0;
  for (std::int64_t i = 0; i < x.size(); i += stretch_numbers) {
    const std::int64_t n = std::min(stretch_numbers, x.size() - i);
    sum += static_cast<double>(sum_of_stretch(input.stretch(i, n), n));
    pace.did(n);
  }
  call.out().fp32()[0] = static_cast<float>(sum);
}

void square_sum(const KernelCall& call) {
  total(call, [](const float* x, std::int64_t n) { return rows::squares(x, 0.0F, n); });
}

void loss_sum(const KernelCall& call) {
  total(call, rows::sum);
}

}  // namespace

std::span<const KernelOf> reduce_kernels() {
  static constexpr KernelOf kernels[]{
      {&functions::row_sum, row_sum},       {&functions::row_squares, row_squares},
      {&functions::col_sum, col_sum},       {&functions::position_sum, position_sum},
      {&functions::square_sum, square_sum}, {&functions::loss_sum, loss_sum},
  };
  return kernels;
}

}  // namespace fourfold::inline engine::inline cpu
