// Element-wise loops over one row, or any stretch, of n fp32 numbers. `out` may be the memory of an
// input.
#pragma once
#include <cstdint>

namespace fourfold::inline engine::inline cpu::rows {

void copy(const float* x, std::int64_t n, float* out);
void add(const float* a, const float* b, std::int64_t n, float* out);
// (x + bias) + residual, as the reference adds.
void bias_residual(const float* x, const float* bias, const float* residual, std::int64_t n,
                   float* out);
// GELU of x + bias, in the tanh form, which is x times the logistic function of 2 sqrt(2/pi)
// (x + 0.044715 x^3). Within 1e-6 of the reference, relative to max(|x|, 1).
void bias_gelu(const float* x, const float* bias, std::int64_t n, float* out);

struct GeluBackward {
  const float *gradient, *input, *bias;
};
void gelu_backward(const GeluBackward& operands, std::int64_t n, float* out);

// a logistic(a) b of n pairs a, b that lie element by element, and the gradients of the pairs.
void swiglu(const float* pairs, std::int64_t n, float* out);
void swiglu_backward(const float* gradient, const float* pairs, std::int64_t n, float* out);

// Column i of the first half turned with column i of the second.
struct Halves {
  const float *first, *second;
};
struct Angles {
  const float *cosines, *sines;
  float direction = 1.0F;
};
void turn(const Halves& halves, const Angles& angles, std::int64_t half, float* out);

// What a row's normalisation is: (x - mean) * scale.
struct Normalisation {
  float mean = 0.0F, scale = 1.0F;
};
struct LayerNormRow {
  const float *input, *parameters, *offsets;  // offsets: row 1 of the parameters
  Normalisation normalisation;
};
void layer_norm(const LayerNormRow& row, std::int64_t n, float* out);

struct LayerNormBackwardRow {
  const float *gradient, *input, *parameters;
  Normalisation normalisation;
  float mean_gradient = 0.0F, mean_weighted = 0.0F;  // over all columns, as layer_norm_sums
};
void layer_norm_backward(const LayerNormBackwardRow& row, std::int64_t n, float* out);

// Of an RMS norm: x * scale * parameters, and its gradient; means and offsets are not looked at.
void rms_norm(const LayerNormRow& row, std::int64_t n, float* out);
void rms_norm_backward(const LayerNormBackwardRow& row, std::int64_t n, float* out);

// scale * e^(x - highest).
struct Exponential {
  float highest = 0.0F, scale = 1.0F;
};
void exponential(const float* x, const Exponential& of, std::int64_t n, float* out);

// bf16 is widened exactly and narrowed to nearest, ties to even.
void widen(const std::uint16_t* x, std::int64_t n, float* out);
void narrow(const float* x, std::int64_t n, std::uint16_t* out);

// A row of scores that looks back at its first `visible` columns; the others, up to n, become zero.
struct CausalRow {
  std::int64_t visible = 0, n = 0;
  float scale = 1.0F;  // 1 / sqrt(columns of a head)
};
// softmax(scale * scores), in place.
void causal_softmax(float* scores, const CausalRow& row);
// to = weights * (to - centre) * scale: from gradients of the weights to those of the products of
// queries and keys.
void score_gradient(const float* weights, float centre, const CausalRow& row, float* to);

}  // namespace fourfold::inline engine::inline cpu::rows
