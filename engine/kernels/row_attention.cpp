// Vectorised loops of attention; see row_attention.hpp.
#include "engine/kernels/row_attention.hpp"

#include <algorithm>

#include "engine/kernels/lanes.hpp"
#include "engine/kernels/row_sums.hpp"

namespace fourfold::rows {

namespace {

struct Scaled {
  float highest, scale;
};

FOURFOLD_CLONES float exponentials_and_sum(float* scores, const Scaled& of, std::int64_t n) {
  const Scaled in = of;
  return sum_over(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes e = exp_of((at.load(scores) - in.highest) * in.scale);
    at.store(scores, e);
    return e;
  });
}

FOURFOLD_CLONES void multiply(float* x, float factor, std::int64_t n) {
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY { at.store(x, at.load(x) * factor); });
}

}  // namespace

void causal_softmax(float* scores, const CausalRow& row) {
  const float sum =
      exponentials_and_sum(scores, {highest(scores, row.visible), row.scale}, row.visible);
  multiply(scores, 1.0F / sum, row.visible);
  std::fill(scores + row.visible, scores + row.n, 0.0F);
}

FOURFOLD_CLONES void score_gradient(const float* weights, float centre, const CausalRow& row,
                                    float* to) {
  const float scale = row.scale;
  for_lanes(row.n, [&](auto at) FOURFOLD_INLINE_BODY {
    at.store(to, at.load(weights) * (at.load(to) - centre) * scale);
  });
}

}  // namespace fourfold::rows
