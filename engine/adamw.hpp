// The optimizer's numbers: AdamW with decoupled decay (Loshchilov and Hutter, 2019) after clipping
// of the gradient's norm.
#pragma once

#include <cmath>
#include <limits>

#include "schedule/program/program.hpp"

namespace fourfold::inline engine {

struct AdamW {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;
  double clip_norm = 1.0;  // the norm that a gradient is scaled down to; 0: none is
  // A gradient of a larger norm, or of one that is no number, is not applied.
  double largest_norm = std::numeric_limits<double>::infinity();

  bool takes(double norm) const { return std::isfinite(norm) && norm <= largest_norm; }
};

// Matrices and embeddings decay; biases and layer norms do not, as in GPT-3 and nanoGPT.
constexpr bool decays(WeightKind kind) {
  return kind == WeightKind::matrix || kind == WeightKind::residual_matrix;
}

}  // namespace fourfold::inline engine
