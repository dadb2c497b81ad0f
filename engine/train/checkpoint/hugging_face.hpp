// Checkpoints in the layout of Hugging Face's transformers: config.json, and tensors of bf16, fp16
// or fp32 in model.safetensors, or in several such files with model.safetensors.index.json. What
// the tensors are says foreign_layout.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/train/checkpoint/foreign_layout.hpp"
#include "engine/train/checkpoint/number_type.hpp"
#include "schedule/models/model.hpp"

namespace fourfold {

// Our matrices by name, row by row.
struct WholeMatrix {
  std::int64_t rows = 0, cols = 0;
  std::vector<float> values;
};
using Matrices = std::map<std::string, WholeMatrix>;

// What import leaves to export: of each tensor its type, and how the files were.
struct ForeignCheckpoint {
  Model model;
  nlohmann::json config;
  std::map<std::string, NumberType> types;  // by name, prefix included
  std::string prefix;                       // the family's, or nothing
  bool has_head = false;  // of tied embeddings: an lm_head.weight that is equal to them
};

// Reads a folder, every tensor exactly. Throws std::runtime_error with one sentence that names the
// file if something is missing, damaged, of another shape, or nothing that is known here.
std::pair<ForeignCheckpoint, Matrices> read_foreign(const std::string& folder);

// Writes a folder, in files of at most so many bytes of tensors (one tensor at least each). Types
// that are not said are fp32. Throws std::runtime_error if the folder is not empty or cannot be
// written; then nothing is left in it.
void write_foreign(const std::string& folder, const ForeignCheckpoint& what,
                   const Matrices& matrices, std::int64_t most_bytes);

}  // namespace fourfold
