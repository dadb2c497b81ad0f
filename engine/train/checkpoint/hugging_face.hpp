// Checkpoints in the layout of Hugging Face's transformers: config.json, and tensors of bf16, fp16
// or fp32 in model.safetensors, or in several such files with model.safetensors.index.json. What
// the tensors are says foreign_layout.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/train/checkpoint/foreign_layout.hpp"
#include "engine/train/checkpoint/number_type.hpp"
#include "schedule/models/model.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// Our matrices by name, row by row.
struct WholeMatrix {
  std::int64_t rows = 0, cols = 0;
  std::vector<float> values;
};
using Matrices = std::map<std::string, WholeMatrix>;

inline constexpr const char* foreign_index = "model.safetensors.index.json";
// Of config.json: how a model that was made here is called. Others leave it alone.
inline constexpr const char* foreign_model_name = "fourfold_model";
inline constexpr const char* foreign_single = "model.safetensors";

// What import leaves to export, so that the same files come out.
struct ForeignCheckpoint {
  Model model;
  std::string config;                        // the text of config.json; empty: that of the model
  std::string index;                         // the text of the index; empty: there is none
  std::map<std::string, std::string> heads;  // by file: its head's JSON; none: files are cut anew
  std::map<std::string, std::string> files;  // what was carried along, by name
  std::map<std::string, NumberType> types;   // by tensor, prefix included
  std::string prefix;                        // the family's, or nothing
  bool has_head = false;  // of tied embeddings: an lm_head.weight that is equal to them
};

// Reads a folder, every tensor exactly. Throws std::runtime_error with one sentence that names the
// file if something is missing, damaged, of another shape, or nothing that is known here. Writing
// is foreign_writer.hpp's.
std::pair<ForeignCheckpoint, Matrices> read_foreign(const std::string& folder);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
