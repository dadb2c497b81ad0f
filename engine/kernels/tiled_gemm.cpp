// The loop over tiles; see tiled_gemm.hpp.
#include "engine/kernels/tiled_gemm.hpp"

#include <algorithm>

#include "engine/kernels/placing.hpp"
#include "engine/kernels/row_maps.hpp"

namespace fourfold {

namespace {

// Large enough that the libraries lose a few per cent, small enough that a tile (256 x 1024 x k)
// takes about a millisecond at hidden sizes of 384.
constexpr std::int64_t tile_rows = 256;
constexpr std::int64_t panel_cols = 1024;

// An operand where the library reads it.
struct Placed {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

// The part of an operand that a tile needs. `window` is in the rows and columns of op(operand);
// `stored` and `wanted` say whether the operand lies, and should be read, transposed.
Placed placed(const Tensor& operand, Window window, bool stored, bool wanted, float* scratch) {
  if (stored) {
    std::swap(window.first_row, window.first_col);
    std::swap(window.rows, window.cols);
  }
  if (stored != wanted) {
    place_transposed(operand, window, scratch);
    return {scratch, window.rows};
  }
  if (operand.precision == Precision::bf16) {
    place(operand, window, scratch);
    return {scratch, window.cols};
  }
  return {operand.fp32() + window.first_row * operand.cols + window.first_col, operand.cols};
}

}  // namespace

void multiply(const TensorProduct& product, const GemmKernel& kernel, Scratch& scratch,
              const Progress& progress) {
  const Tensor& out = product.out;
  const bool a_stored = product.form == GemmForm::tn;
  const bool b_stored = product.form == GemmForm::nt;
  const bool a_wanted = kernel.form == GemmForm::tn;
  const bool b_wanted = kernel.form == GemmForm::nt;
  const std::int64_t k = a_stored ? product.a.rows : product.a.cols;
  const std::int64_t rows = std::min(tile_rows, out.rows);
  const std::int64_t cols = std::min(panel_cols, out.cols);
  const auto room = [&](std::size_t slot, const Tensor& t, bool moves, std::int64_t n) {
    return moves || t.precision == Precision::bf16 ? scratch.floats(slot, n) : nullptr;
  };
  float* const a_scratch = room(0, product.a, a_stored != a_wanted, rows * k);
  float* const b_scratch = room(1, product.b, b_stored != b_wanted, cols * k);
  float* const out_scratch = room(2, out, false, rows * cols);
  for (std::int64_t j = 0; j < out.cols; j += cols) {
    const std::int64_t n = std::min(cols, out.cols - j);
    const Placed b = placed(product.b, {0, k, j, n}, b_stored, b_wanted, b_scratch);
    for (std::int64_t i = 0; i < out.rows; i += rows) {
      const std::int64_t m = std::min(rows, out.rows - i);
      const Placed a = placed(product.a, {i, m, 0, k}, a_stored, a_wanted, a_scratch);
      const bool narrows = out.precision == Precision::bf16;
      float* const c = narrows ? out_scratch : out.fp32() + i * out.cols + j;
      const std::int64_t stride = narrows ? n : out.cols;
      sgemm(kernel.library,
            {kernel.form, m, n, k, a.data, a.stride, b.data, b.stride, c, stride, 0.0F});
      for (std::int64_t r = 0; narrows && r < m; ++r) {
        rows::narrow(c + r * n, n, out.bf16() + (i + r) * out.cols + j);
      }
      if (progress) progress();
    }
  }
}

}  // namespace fourfold
