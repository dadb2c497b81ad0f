// What the blocks of families of models are like, where the keys of their config.json do not say
// it.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/models/foreign_keys.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline schedule::inline models {

// Of keys that a config.json leaves out, as the family's own code takes them.
struct FamilyHeads {
  std::int64_t tokens;
  std::int64_t key_value_heads;  // 0: as many as heads
  std::int64_t head_size;        // 0: hidden / heads
};

struct BlockFamily {
  const char* type;
  NormKind norm;
  PositionKind position;
  MlpKind mlp;
  bool biases;
  bool tied;
  const char* activation;
  FamilyHeads left_out;
  void (*own)(const ForeignKeys& config, Model& model);  // what it has of its own
};

std::span<const BlockFamily> block_families();

}  // namespace fourfold::inline schedule::inline models
