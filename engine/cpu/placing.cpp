// Widening and transposing copies; see placing.hpp.
#include "engine/cpu/placing.hpp"

#include <algorithm>

#include "engine/cpu/row_maps.hpp"
#include "engine/cpu/vectors.hpp"

namespace fourfold::inline engine::inline cpu {

namespace {

using Four = float __attribute__((vector_size(16)));

struct Strides {
  std::int64_t from, to;
};

// Four rows of n columns become n rows of four.
FOURFOLD_CLONES void transpose_four_rows(const float* from, const Strides& strides, std::int64_t n,
                                         float* to) {
  const Strides s = strides;
  std::int64_t c = 0;
  for (; c + 4 <= n; c += 4) {
    Four r[4];
    for (int k = 0; k < 4; ++k) std::memcpy(&r[k], from + k * s.from + c, sizeof(Four));
    const Four low01 = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5);
    const Four high01 = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
    const Four low23 = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
    const Four high23 = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
    const Four columns[4]{__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                          __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                          __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                          __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
    for (int k = 0; k < 4; ++k) std::memcpy(to + (c + k) * s.to, &columns[k], sizeof(Four));
  }
  for (; c < n; ++c) {
    for (int k = 0; k < 4; ++k) to[c * s.to + k] = from[k * s.from + c];
  }
}

}  // namespace

void place(const Tensor& matrix, const Window& window, float* out) {
  for (std::int64_t r = 0; r < window.rows; ++r, out += window.cols) {
    const std::int64_t first = (window.first_row + r) * matrix.cols + window.first_col;
    if (matrix.precision == Precision::bf16) {
      rows::widen(matrix.bf16() + first, window.cols, out);
    } else {
      rows::copy(matrix.fp32() + first, window.cols, out);
    }
  }
}

// Strips of 64 columns: the 64 lines of the result that are written in turn stay in the cache, and
// so does a widened strip.
void place_transposed(const Tensor& matrix, const Window& window, std::int64_t stride, float* out) {
  constexpr std::int64_t strip = 64;
  float widened[4 * strip];
  for (std::int64_t c = 0; c < window.cols; c += strip) {
    const std::int64_t cols = std::min(strip, window.cols - c);
    for (std::int64_t r = 0; r < window.rows; r += 4) {
      const std::int64_t height = std::min<std::int64_t>(4, window.rows - r);
      const Window piece{window.first_row + r, height, window.first_col + c, cols};
      const float* from = widened;
      Strides strides{cols, stride};
      if (matrix.precision == Precision::bf16) {
        place(matrix, piece, widened);
      } else {
        from = matrix.fp32() + piece.first_row * matrix.cols + piece.first_col;
        strides.from = matrix.cols;
      }
      float* to = out + c * stride + r;
      if (height == 4) {
        transpose_four_rows(from, strides, cols, to);
        continue;
      }
      for (std::int64_t i = 0; i < cols; ++i) {
        for (std::int64_t k = 0; k < height; ++k)
          to[i * strides.to + k] = from[k * strides.from + i];
      }
    }
  }
}

}  // namespace fourfold::inline engine::inline cpu
