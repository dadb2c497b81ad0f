// The two families of models whose checkpoints come in Hugging Face's layout: which elements of
// ours their tensors are, and the config.json that is written beside them.
// GPT-2's products are stored inputs x outputs (Conv1D), with all queries, keys and values side by
// side; Llama's outputs x inputs, queries, keys, values, gates and what they let through each by
// themselves. Ours stand group by group, and column by column.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "schedule/models/model.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

// A tensor of theirs as elements of a matrix of ours.
struct ForeignTensor {
  std::string name;                 // "transformer.h.0.attn.c_attn.weight"
  std::vector<std::int64_t> shape;  // one or two extents
  std::string matrix;               // of ours
  std::int64_t matrix_rows = 0, matrix_cols = 0;
  // The place in our matrix of their element (row, column); a vector has one row.
  std::function<std::pair<std::int64_t, std::int64_t>(std::int64_t, std::int64_t)> place;

  std::int64_t rows() const { return shape.size() == 1 ? 1 : shape.front(); }
  std::int64_t cols() const { return shape.back(); }
};

// What a family calls its own.
struct ForeignFamily {
  const char* model_type;
  const char* prefix;     // of all tensors but lm_head.weight; a model without a head may lack it
  const char* embedding;  // behind the prefix
};

// Throws std::runtime_error with half a sentence that follows the model's name if it is of none.
const ForeignFamily& family_of(const Model& model);

// The model that a config.json describes. Throws std::runtime_error with half a sentence that
// follows the file's name about what cannot be trained here.
Model model_of_config(const nlohmann::json& config, const std::string& name);
// The other way, where there is none to keep.
nlohmann::json config_of(const Model& model);

// All tensors of the model, with that prefix; the head's last, if it is not the embedding.
std::vector<ForeignTensor> foreign_tensors(const Model& model, const std::string& prefix);

inline constexpr const char* foreign_head = "lm_head.weight";

// That some versions of transformers saved; no weights.
bool is_foreign_buffer(const std::string& tensor);

}  // namespace fourfold::inline engine::inline train::inline checkpoint
