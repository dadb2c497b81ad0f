// Vectorised loops over one row; see row_maps.hpp.
#include "engine/cpu/row_maps.hpp"

#include <algorithm>

#include "engine/cpu/row_sums.hpp"
#include "engine/cpu/vectors.hpp"

namespace fourfold::inline engine::inline cpu::rows {

namespace {

constexpr float twice_slope = 2 * 0.79788456080286535588F;  // 2 sqrt(2/pi)
constexpr float cubic = 0.044715F;

}  // namespace

FOURFOLD_CLONES void copy(const float* x, std::int64_t n, float* out) {
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY { at.store(out, at.load(x)); });
}

FOURFOLD_CLONES void add(const float* a, const float* b, std::int64_t n, float* out) {
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY { at.store(out, at.load(a) + at.load(b)); });
}

FOURFOLD_CLONES void bias_residual(const float* x, const float* bias, const float* residual,
                                   std::int64_t n, float* out) {
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    at.store(out, at.load(x) + at.load(bias) + at.load(residual));
  });
}

FOURFOLD_CLONES void bias_gelu(const float* x, const float* bias, std::int64_t n, float* out) {
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes v = at.load(x) + at.load(bias);
    at.store(out, v * logistic_of(v * (twice_slope + (twice_slope * cubic) * (v * v))));
  });
}

// With s the logistic function of u = 2 sqrt(2/pi) (x + 0.044715 x^3): s + x s (1 - s) du/dx.
FOURFOLD_CLONES void gelu_backward(const GeluBackward& operands, std::int64_t n, float* out) {
  const GeluBackward in = operands;
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes v = at.load(in.input) + at.load(in.bias);
    const Lanes square = v * v;
    const Lanes s = logistic_of(v * (twice_slope + (twice_slope * cubic) * square));
    const Lanes slope = twice_slope + (3 * twice_slope * cubic) * square;
    at.store(out, at.load(in.gradient) * (s + v * s * (1.0F - s) * slope));
  });
}

FOURFOLD_CLONES void swiglu(const float* pairs, std::int64_t n, float* out) {
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Pairs in = load_pairs(at, pairs);
    at.store(out, in.first * logistic_of(in.first) * in.second);
  });
}

// With s = logistic(a): g b (s + a s (1 - s)) of a, g a s of b.
FOURFOLD_CLONES void swiglu_backward(const float* gradient, const float* pairs, std::int64_t n,
                                     float* out) {
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Pairs in = load_pairs(at, pairs);
    const Lanes g = at.load(gradient);
    const Lanes s = logistic_of(in.first);
    const Lanes as = in.first * s;
    store_pairs(at, out, {g * in.second * (s + as * (1.0F - s)), g * as});
  });
}

FOURFOLD_CLONES void turn(const Halves& halves, const Angles& angles, std::int64_t half,
                          float* out) {
  const Halves in = halves;
  const Angles by = angles;
  for_lanes(half, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes a = at.load(in.first), b = at.load(in.second);
    const Lanes cosine = at.load(by.cosines), sine = at.load(by.sines) * by.direction;
    at.store(out, a * cosine - b * sine);
    at.store(out + half, b * cosine + a * sine);
  });
}

FOURFOLD_CLONES void rms_norm(const LayerNormRow& row, std::int64_t n, float* out) {
  const LayerNormRow in = row;
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    at.store(out, at.load(in.input) * in.normalisation.scale * at.load(in.parameters));
  });
}

FOURFOLD_CLONES void rms_norm_backward(const LayerNormBackwardRow& row, std::int64_t n,
                                       float* out) {
  const LayerNormBackwardRow in = row;
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes x = at.load(in.input) * in.normalisation.scale;
    const Lanes g = at.load(in.gradient) * at.load(in.parameters);
    at.store(out, (g - x * in.mean_weighted) * in.normalisation.scale);
  });
}

FOURFOLD_CLONES void layer_norm(const LayerNormRow& row, std::int64_t n, float* out) {
  const LayerNormRow in = row;
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes x = (at.load(in.input) - in.normalisation.mean) * in.normalisation.scale;
    at.store(out, x * at.load(in.parameters) + at.load(in.offsets));
  });
}

FOURFOLD_CLONES void layer_norm_backward(const LayerNormBackwardRow& row, std::int64_t n,
                                         float* out) {
  const LayerNormBackwardRow in = row;
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    const Lanes x = (at.load(in.input) - in.normalisation.mean) * in.normalisation.scale;
    const Lanes g = at.load(in.gradient) * at.load(in.parameters);
    at.store(out, (g - in.mean_gradient - x * in.mean_weighted) * in.normalisation.scale);
  });
}

FOURFOLD_CLONES void exponential(const float* x, const Exponential& of, std::int64_t n,
                                 float* out) {
  const Exponential in = of;
  for_lanes(n, [&](auto at) FOURFOLD_INLINE_BODY {
    at.store(out, in.scale * exp_of(at.load(x) - in.highest));
  });
}

FOURFOLD_CLONES void widen(const std::uint16_t* x, std::int64_t n, float* out) {
  std::int64_t i = 0;
  for (; i + lane_width <= n; i += lane_width) {
    HalfLanes halves;
    std::memcpy(&halves, x + i, sizeof(halves));
    const WordLanes words = __builtin_convertvector(halves, WordLanes) << 16;
    std::memcpy(out + i, &words, sizeof(words));
  }
  for (; i < n; ++i) {
    const std::uint32_t word = static_cast<std::uint32_t>(x[i]) << 16;
    std::memcpy(out + i, &word, sizeof(word));
  }
}

// What is no number stays none: its quiet bit is set rather than rounded away.
FOURFOLD_CLONES void narrow(const float* x, std::int64_t n, std::uint16_t* out) {
  const auto narrowed = [](const auto& numbers, const auto& words) FOURFOLD_INLINE_BODY {
    const auto rounded = words + 0x7fffU + ((words >> 16) & 1U);
    // NOLINTNEXTLINE(misc-redundant-expression): a lane that is no number differs from itself
    return (numbers == numbers ? rounded : words | 0x00400000U) >> 16;
  };
  std::int64_t i = 0;
  for (; i + lane_width <= n; i += lane_width) {
    const Lanes numbers = Whole{i}.load(x);
    const WordLanes words = narrowed(numbers, reinterpret_cast<WordLanes>(numbers));
    const HalfLanes halves = __builtin_convertvector(words, HalfLanes);
    std::memcpy(out + i, &halves, sizeof(halves));
  }
  for (; i < n; ++i) {
    std::uint32_t word;
    std::memcpy(&word, x + i, sizeof(word));
    out[i] = static_cast<std::uint16_t>(narrowed(x[i], word));
  }
}

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

}  // namespace fourfold::inline engine::inline cpu::rows
