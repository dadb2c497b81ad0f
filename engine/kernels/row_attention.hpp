// The loops over one row of attention scores.
#pragma once

#include <cstdint>

namespace fourfold::rows {

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

}  // namespace fourfold::rows
