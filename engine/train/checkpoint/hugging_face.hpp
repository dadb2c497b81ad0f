// Checkpoints in the layout of Hugging Face's transformers: config.json, and tensors of bf16, fp16
// or fp32 in model.safetensors, or in several such files with model.safetensors.index.json. Which
// elements of ours they are stands in one description, read both ways. Known: GPT-2, whose
// products' weights are stored inputs x outputs (Conv1D), with queries, keys and values side by
// side; ours stand head by head.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/train/checkpoint/number_type.hpp"
#include "schedule/models/model.hpp"

namespace fourfold {

// A tensor of theirs as elements of a matrix of ours.
struct ForeignTensor {
  std::string name;                 // "h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  // one or two extents
  std::string matrix;               // of ours
  // The place in our matrix of their element (row, column); a vector has one row.
  std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t, std::int64_t)> place;

  std::int64_t rows() const { return shape.size() == 1 ? 1 : shape.front(); }
  std::int64_t cols() const { return shape.back(); }
};

// The model that a config.json describes. Throws std::runtime_error with half a sentence that
// follows the file's name about what cannot be trained here.
Model model_of_config(const nlohmann::json& config, const std::string& name);
// The other way, where there is none to keep.
nlohmann::json config_of(const Model& model);

// All tensors of the model, without the prefix "transformer." that some files have.
std::vector<ForeignTensor> foreign_tensors(const Model& model);

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
  std::string prefix;                       // "transformer." or nothing
  bool has_head = false;                    // lm_head.weight beside the embedding it is equal to
};

// Reads a folder, every tensor exactly. Throws std::runtime_error with one sentence that names the
// file if something is missing, damaged, of another shape, or nothing that is known here.
std::pair<ForeignCheckpoint, Matrices> read_foreign(const std::string& folder);

// Writes a folder, in files of at most so many bytes of tensors (one tensor at least each). Types
// that are not said are fp32. Throws std::runtime_error if the folder is not empty or cannot be
// written.
void write_foreign(const std::string& folder, const ForeignCheckpoint& what,
                   const Matrices& matrices, std::int64_t most_bytes);

}  // namespace fourfold
