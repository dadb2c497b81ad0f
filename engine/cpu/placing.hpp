// Copies a window of a matrix into fp32 scratch, transposed or not, widening bf16 on the way.
#pragma once

#include "engine/backend.hpp"

namespace fourfold::inline engine::inline cpu {

struct Window {
  std::int64_t first_row = 0, rows = 0;
  std::int64_t first_col = 0, cols = 0;
};

// out(r, c) = matrix(first_row + r, first_col + c), out without gaps.
void place(const Tensor& matrix, const Window& window, float* out);
// out(c, r) = matrix(first_row + r, first_col + c); rows of out lie `stride` apart.
void place_transposed(const Tensor& matrix, const Window& window, std::int64_t stride, float* out);
// A stride for rows of n numbers, an odd number of cache lines: rows at a power of two fall into
// the same few lines of the cache, which makes a transposition several times as slow.
constexpr std::int64_t odd_stride(std::int64_t n) {
  return ((n + 15) / 16 | 1) * 16;
}

}  // namespace fourfold::inline engine::inline cpu
