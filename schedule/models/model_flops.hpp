// Flops of a step by the convention of the field, whatever a program repeats or leaves out: of a
// block what its recorded products have, and attention in full.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/models/model.hpp"
#include "support/quantity.hpp"

namespace fourfold::inline schedule::inline models {

// Model flops of one training step over `sequences` sequences (Narayanan et al., SC21, eq. 3):
// 96 B s l h^2 (1 + s/(6h) + V/(16 l h)) with full recompute counted, 72 and V/(12 l h) without.
// Attention is counted in full, although a causal kernel skips half. Of other blocks by the same
// rule: 12 h^2 stands for the weights of a block's products, key-value heads and SwiGLU as they
// are, and s/(6h) is of the columns of all heads instead of h. In layers with a window s is at most
// the window.
Flops model_flops(const Model& model, std::int64_t sequences, Recompute recompute);
// Of a step with these options on so many stages: in training, with the layers that are recomputed
// as a whole counted again; of an evaluation the forward third; of a prefill that with the logits
// of each last token alone; of a decoding step that of one token of each sequence, which looks at
// `sequence` tokens.
Flops model_flops(const Model& model, std::int64_t sequences, const StepOptions& options,
                  std::int64_t stages);
// "Narayanan et al. SC21 eq. 3, recompute counted" or the like: goes next to every flop/s figure.
std::string model_flops_convention(const Model& model, Recompute recompute);
std::string model_flops_convention(const Model& model, const StepOptions& options);

}  // namespace fourfold::inline schedule::inline models
