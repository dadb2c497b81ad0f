// A GPT model as numbers, the two published formulas about it, and its reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/program/step_options.hpp"
#include "support/quantity.hpp"

namespace fourfold {

template <typename T>
class FieldTable;

struct Model {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t sequence = 2048;      // tokens
  std::int64_t vocabulary = 51'200;  // the true one; a step may pad it
};

// The largest that can be counted. A step records every operation of every layer, about 0.1 MB a
// layer; tokens of a batch x vocabulary x 4 bytes, the largest product, stay below 2^63.
inline constexpr std::int64_t most_layers = 10'000;
inline constexpr std::int64_t most_hidden = std::int64_t{1} << 20;
inline constexpr std::int64_t most_sequence = std::int64_t{1} << 24;    // tokens
inline constexpr std::int64_t most_vocabulary = std::int64_t{1} << 24;  // 16.8 million entries
inline constexpr std::int64_t most_batch_tokens = std::int64_t{1} << 36;

// What a model file says: numbers, each with its bounds. Records and checkpoints say the name as
// well, and the sequence without its unit. A new field is a member above, a row there, and its line
// in docs/campaigns.md.
const FieldTable<Model>& model_fields();
const FieldTable<Model>& model_record_fields();

// Why the model is too large to be counted, as in "layers = 20000, but at most ..."; empty if it is
// not.
std::string excess(const Model& model);

// P = 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)), embeddings tied (Narayanan et al., SC21, eq. 2).
double parameter_count(const Model& model);

// Model flops of one training step over `sequences` sequences (Narayanan et al., SC21, eq. 3):
// 96 B s l h^2 (1 + s/(6h) + V/(16 l h)) with full recompute counted, 72 and V/(12 l h) without.
// Attention is counted in full, although a causal kernel skips half.
Flops model_flops(const Model& model, std::int64_t sequences, Recompute recompute);
// "Narayanan et al. SC21 eq. 3, recompute counted" or the like: goes next to every flop/s figure.
std::string model_flops_convention(Recompute recompute);

}  // namespace fourfold
