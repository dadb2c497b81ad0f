// Vectorised sums; see row_sums.hpp.
#include "engine/cpu/row_sums.hpp"

#include <algorithm>
#include <limits>

#include "engine/cpu/vectors.hpp"

namespace fourfold::inline engine::inline cpu::rows {

FOURFOLD_CLONES float sum(const float* x, std::int64_t n) {
  return sum_over(n, [&](auto at) FOURFOLD_INLINE_BODY { return at.load(x); });
}

FOURFOLD_CLONES float squares(const float* x, float centre, std::int64_t n) {
  return sum_over(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes distance = at.load(x) - centre;
    return distance * distance;
  });
}

FOURFOLD_CLONES float highest(const float* x, std::int64_t n) {
  constexpr float nothing = -std::numeric_limits<float>::infinity();
  Lanes chains[2]{lanes_of(nothing), lanes_of(nothing)};
  std::int64_t i = 0;
  for (; i + 2 * lane_width <= n; i += 2 * lane_width) {
    chains[0] = larger(Whole{i}.load(x), chains[0]);
    chains[1] = larger(Whole{i + lane_width}.load(x), chains[1]);
  }
  float result = nothing;
  for (; i < n; ++i) result = std::max(result, x[i]);
  const Lanes both = larger(chains[0], chains[1]);
  for (int k = 0; k < lane_width; ++k) result = std::max(result, both[k]);
  return result;
}

FOURFOLD_CLONES float sum_of_exponentials(const float* x, float highest, std::int64_t n) {
  return sum_over(n, [&](auto at) FOURFOLD_INLINE_BODY { return exp_of(at.load(x) - highest); });
}

FOURFOLD_CLONES float dot(const float* a, const float* b, std::int64_t n) {
  return sum_over(n, [&](auto at) FOURFOLD_INLINE_BODY { return at.load(a) * at.load(b); });
}

FOURFOLD_CLONES LayerNormSums layer_norm_sums(const LayerNormBackwardRow& row, std::int64_t n) {
  const LayerNormBackwardRow in = row;
  Lanes plain[2]{}, weighted[2]{};
  const auto visit = [&](auto at, int chain) FOURFOLD_INLINE_BODY {
    const Lanes x = (at.load(in.input) - in.normalisation.mean) * in.normalisation.scale;
    const Lanes g = at.load(in.gradient) * at.load(in.parameters);
    plain[chain] += g;
    weighted[chain] += g * x;
  };
  std::int64_t i = 0;
  for (; i + 2 * lane_width <= n; i += 2 * lane_width) {
    visit(Whole{i}, 0);
    visit(Whole{i + lane_width}, 1);
  }
  for (; i + lane_width <= n; i += lane_width) visit(Whole{i}, 0);
  if (i < n) visit(Rest{i, n - i}, 1);  // a missing gradient reads as zero and adds nothing
  return {sum_of(plain[0] + plain[1]), sum_of(weighted[0] + weighted[1])};
}

FOURFOLD_CLONES float rms_norm_sum(const LayerNormBackwardRow& row, std::int64_t n) {
  const LayerNormBackwardRow in = row;
  return in.normalisation.scale * sum_over(n, [&](auto at) FOURFOLD_INLINE_BODY {
           return at.load(in.gradient) * at.load(in.parameters) * at.load(in.input);
         });
}

FOURFOLD_CLONES void accumulate(const float* x, std::int64_t n, float* sums) {
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY { at.store(sums, at.load(sums) + at.load(x)); });
}

FOURFOLD_CLONES void accumulate_four(const float* x, std::int64_t stride, std::int64_t n,
                                     float* sums) {
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes first = at.load(x) + at.load(x + stride);
    const Lanes second = at.load(x + 2 * stride) + at.load(x + 3 * stride);
    at.store(sums, at.load(sums) + (first + second));
  });
}

FOURFOLD_CLONES void accumulate_parameters(const LayerNormBackwardRow& row, std::int64_t n,
                                           const ParameterSums& sums) {
  const LayerNormBackwardRow in = row;
  const ParameterSums to = sums;
  if (to.offsets == nullptr) {
    for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
      const Lanes x = at.load(in.input) * in.normalisation.scale;
      at.store(to.scales, at.load(to.scales) + at.load(in.gradient) * x);
    });
    return;
  }
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes x = (at.load(in.input) - in.normalisation.mean) * in.normalisation.scale;
    const Lanes g = at.load(in.gradient);
    at.store(to.scales, at.load(to.scales) + g * x);
    at.store(to.offsets, at.load(to.offsets) + g);
  });
}

}  // namespace fourfold::inline engine::inline cpu::rows
