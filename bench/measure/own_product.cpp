// Tiles of twelve rows and two vectors, as wide as the processor has them; see own_product.hpp.
#include "bench/measure/own_product.hpp"

#include <cstring>

#include "engine/cpu/vectors.hpp"

namespace fourfold::inline bench::inline measure {

namespace {

using Wide = float __attribute__((vector_size(64)));
using Middle = float __attribute__((vector_size(32)));
using Narrow = float __attribute__((vector_size(16)));

struct Extents {
  std::int64_t rows = 0, cols = 0, depth = 0;
};

// a lies in panels of `tile` rows, b in panels of two vectors; of each one step in depth after the
// other.
template <typename Vector, int tile>
FOURFOLD_INLINE void multiply(const Extents& n, const float* a, const float* b, float* out) {
  constexpr std::int64_t lanes = sizeof(Vector) / sizeof(float);
  for (std::int64_t col = 0; col < n.cols; col += 2 * lanes) {
    for (std::int64_t row = 0; row < n.rows; row += tile) {
      Vector sums[tile][2] = {};
      const float* left = a + row * n.depth;
      const float* right = b + col * n.depth;
      for (std::int64_t k = 0; k < n.depth; ++k) {
        Vector first, second;
        std::memcpy(&first, right, sizeof first);
        std::memcpy(&second, right + lanes, sizeof second);
#pragma GCC unroll 12
        for (int i = 0; i < tile; ++i) {
          const Vector one = left[i] - Vector{};  // in all lanes
          sums[i][0] += one * first;
          sums[i][1] += one * second;
        }
        left += tile;
        right += 2 * lanes;
      }
      for (int i = 0; i < tile; ++i) {
        std::memcpy(out + (row + i) * n.cols + col, &sums[i], sizeof sums[i]);
      }
    }
  }
}

using Multiply = void (*)(const Extents&, const float*, const float*, float*);

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void wide(const Extents& n, const float* a, const float* b,
                                             float* out) {
  multiply<Wide, 12>(n, a, b, out);
}
__attribute__((target("avx2,fma"))) void middle(const Extents& n, const float* a, const float* b,
                                                float* out) {
  multiply<Middle, 6>(n, a, b, out);
}
#endif
void narrow(const Extents& n, const float* a, const float* b, float* out) {
  multiply<Narrow, 6>(n, a, b, out);
}

Multiply widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return wide;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return middle;
#endif
  return narrow;
}

}  // namespace

OwnProduct::OwnProduct() : a_(rows * depth, 0.5F), b_(cols * depth, 0.25F), out_(rows * cols) {}

void OwnProduct::run() {
  static const Multiply multiply = widest();
  multiply({rows, cols, depth}, a_.data(), b_.data(), out_.data());
}

}  // namespace fourfold::inline bench::inline measure
