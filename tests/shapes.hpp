// Small models of every shape that a block may have: each differs from GPT's in one thing, and some
// in all.
#pragma once

#include <vector>

#include "schedule/models/model.hpp"

namespace fourfold::tests {

// Llama's: two heads of queries share one of keys and values, and the MLP is no multiple of the
// hidden size.
inline Model as_llama(Model model) {
  model.name += "-llama";
  model.norm = NormKind::rms;
  model.norm_epsilon = 1e-3;
  model.position = PositionKind::rotary;
  model.rotary.base = 100.0;
  model.key_value_heads = model.heads / 2;
  model.mlp = MlpKind::swiglu;
  model.mlp_width = 10 * model.heads;
  model.biases = false;
  model.embeddings = EmbeddingsKind::untied;
  if (model.head_columns() % 2 != 0) model.head_size = model.head_columns() + 1;
  return model;
}

// Llamas with what Gemma 2, OLMo 2 and Qwen 3 have besides.
inline std::vector<Model> beyond_llama(const Model& model) {
  std::vector<Model> all(3, as_llama(model));
  Model &gemma = all[0], &olmo = all[1], &qwen = all[2];
  gemma.name += "-gemma";
  gemma.norm_place = NormPlace::both;
  gemma.layer_pattern = "attention window_tokens=3, attention";
  olmo.name += "-olmo";
  olmo.norm_place = NormPlace::after;
  olmo.query_key_norm = QueryKeyNormKind::all;
  qwen.name += "-qwen";
  qwen.query_key_norm = QueryKeyNormKind::heads;
  return all;
}

// `model` is a GPT.
inline std::vector<Model> shapes_of(const Model& model) {
  std::vector<Model> all;
  const auto other = [&](const std::string& name) -> Model& {
    Model& one = all.emplace_back(model);
    one.name = model.name + "-" + name;
    return one;
  };
  all.push_back(as_llama(model));
  other("rms").norm = NormKind::rms;
  Model& rotary = other("rotary");
  rotary.position = PositionKind::rotary;
  rotary.head_size = 4;
  // Of two frequencies, 0.95 and 0.55 turns in the trained tokens, one blends and one is slowed.
  rotary.rotary = {3.0, 8.0, 0.7, 4.0, 6};
  other("shared-keys").key_value_heads = model.heads / 2;
  other("swiglu").mlp = MlpKind::swiglu;
  other("narrow").mlp_width = 2 * model.heads;
  other("plain").biases = false;
  other("untied").embeddings = EmbeddingsKind::untied;
  other("parallel").residual = ResidualKind::parallel;
  all.push_back(as_llama(model));
  all.back().name += "-parallel";
  all.back().residual = ResidualKind::parallel;
  all.back().key_value_heads = 0;
  all.back().biases = true;
  for (Model& one : beyond_llama(model)) all.push_back(std::move(one));
  Model& behind = other("behind");
  behind.norm_place = NormPlace::after;
  behind.layer_pattern = "attention window_tokens=2";
  return all;
}

}  // namespace fourfold::tests
