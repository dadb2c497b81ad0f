// The loop over tiles; see tiled_gemm.hpp.
#include "engine/cpu/tiled_gemm.hpp"

#include <algorithm>

#include "engine/cpu/placing.hpp"
#include "engine/cpu/row_maps.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

// Large enough that the libraries lose a few per cent, small enough that a tile (512 x 512 x k)
// takes about a millisecond where k is a hidden size of 384.
constexpr std::int64_t tile_rows = 512;
constexpr std::int64_t tile_cols = 512;
// Where an operand is widened or transposed, no more than this of the contracted extent at a time:
// it bounds the scratch to 4 MiB an operand.
constexpr std::int64_t depth = 2048;
// A product is cut along the contracted extent, whoever is let in between, so that collectives
// advance every 2 to 3 ms and results do not depend on them. Shorter cuts cost the libraries up to
// 5 per cent.
constexpr std::int64_t shortest_cut = 1024;

// An operand where the library reads it.
struct Placed {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

// At least `shortest_cut` but for shorter extents, and less than twice as long.
std::int64_t cut_of(std::int64_t extent) {
  const std::int64_t cuts = std::max<std::int64_t>(1, extent / shortest_cut);
  return (extent + cuts - 1) / cuts;
}

// The part of an operand that a tile needs. `window` is in the rows and columns of op(operand);
// `stored` and `wanted` say whether the operand lies, and should be read, transposed.
Placed placed(const Tensor& operand, Window window, bool stored, bool wanted, float* scratch) {
  if (stored) {
    std::swap(window.first_row, window.first_col);
    std::swap(window.rows, window.cols);
  }
  if (stored != wanted) {
    place_transposed(operand, window, odd_stride(window.rows), scratch);
    return {scratch, odd_stride(window.rows)};
  }
  if (operand.precision == Precision::bf16) {
    place(operand, window, scratch);
    return {scratch, window.cols};
  }
  return {operand.fp32() + window.first_row * operand.cols + window.first_col, operand.cols};
}

// How a product is cut, and what scratch its tiles need, in numbers: none for what is read, or
// written, where it lies.
struct Tiling {
  std::int64_t rows = 0, cols = 0;
  std::int64_t inner = 0, step = 0;  // the contracted extent, and how much of it at a time
  std::int64_t a = 0, b = 0, out = 0;
};

Tiling tiling_of(const TensorProduct& product, const GemmKernel& kernel) {
  const bool a_stored = product.form == GemmForm::tn, b_stored = product.form == GemmForm::nt;
  const bool a_wanted = kernel.form == GemmForm::tn, b_wanted = kernel.form == GemmForm::nt;
  const bool a_moves = a_stored != a_wanted || product.a.precision == Precision::bf16;
  const bool b_moves = b_stored != b_wanted || product.b.precision == Precision::bf16;
  Tiling tiling;
  tiling.rows = std::min(tile_rows, product.out.rows);
  tiling.cols = std::min(tile_cols, product.out.cols);
  tiling.inner = a_stored ? product.a.rows : product.a.cols;
  tiling.step = a_moves || b_moves ? std::min(depth, tiling.inner) : tiling.inner;
  // Room for what odd_stride() adds in either direction.
  if (a_moves) tiling.a = (tiling.rows + 32) * (tiling.step + 32);
  if (b_moves) tiling.b = (tiling.cols + 32) * (tiling.step + 32);
  if (product.out.precision == Precision::bf16) tiling.out = tiling.rows * tiling.cols;
  return tiling;
}

}  // namespace

void take_scratch(const TensorProduct& product, const GemmKernel& kernel, Scratch& scratch) {
  const Tiling tiling = tiling_of(product, kernel);
  scratch.take(0, tiling.a);
  scratch.take(1, tiling.b);
  scratch.take(2, tiling.out);
}

void multiply(const TensorProduct& product, const GemmKernel& kernel, Scratch& scratch,
              const ProgressCall& progress) {
  const Tensor& out = product.out;
  const bool a_stored = product.form == GemmForm::tn;
  const bool b_stored = product.form == GemmForm::nt;
  const bool a_wanted = kernel.form == GemmForm::tn;
  const bool b_wanted = kernel.form == GemmForm::nt;
  const Tiling tiling = tiling_of(product, kernel);
  const std::int64_t rows = tiling.rows, cols = tiling.cols;
  const std::int64_t inner = tiling.inner, step = tiling.step;
  const bool narrows = tiling.out > 0;
  float* const a_scratch = scratch.floats(0, tiling.a);
  float* const b_scratch = scratch.floats(1, tiling.b);
  float* const out_scratch = scratch.floats(2, tiling.out);
  for (std::int64_t j = 0; j < out.cols; j += cols) {
    const std::int64_t n = std::min(cols, out.cols - j);
    Placed b;
    for (std::int64_t i = 0; i < out.rows; i += rows) {
      const std::int64_t m = std::min(rows, out.rows - i);
      float* const c = narrows ? out_scratch : out.fp32() + i * out.cols + j;
      const std::int64_t c_stride = narrows ? n : out.cols;
      for (std::int64_t l = 0; l < inner; l += step) {
        const std::int64_t k = std::min(step, inner - l);
        const Placed a = placed(product.a, {i, m, l, k}, a_stored, a_wanted, a_scratch);
        // Placed once for all tiles of these columns where it is placed as a whole.
        if (i == 0 || step < inner) {
          b = placed(product.b, {l, k, j, n}, b_stored, b_wanted, b_scratch);
        }
        const std::int64_t cut = cut_of(k);
        for (std::int64_t done = 0; done < k; done += cut) {
          sgemm(kernel.library, {kernel.form, m, n, std::min(cut, k - done),
                                 a.data + done * (a_wanted ? a.stride : 1), a.stride,
                                 b.data + done * (b_wanted ? 1 : b.stride), b.stride, c, c_stride,
                                 l + done == 0 ? 0.0F : 1.0F});
          if (progress) progress();
        }
      }
      for (std::int64_t r = 0; narrows && r < m; ++r) {
        rows::narrow(c + r * n, n, out.bf16() + (i + r) * out.cols + j);
      }
    }
  }
}

}  // namespace fourfold::inline engine::inline cpu
