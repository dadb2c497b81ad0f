// Models of config.json files; see foreign_config.hpp.
#include "schedule/models/foreign_config.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "schedule/models/foreign_families.hpp"
#include "schedule/models/parameter_count.hpp"
#include "support/nearest_name.hpp"
#include "support/plain_name.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

// Of today's rope_parameters, or rope_theta beside the rope_scaling of earlier versions.
Rotary rotary_of(const ForeignKeys& config) {
  const ForeignKeys scaling =
      config.table(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  Rotary rotary;
  rotary.base = scaling.real({"rope_theta"}, config.real({"rope_theta", "rotary_emb_base"}, 1e4));
  scaling.expect("partial_rotary_factor", 1.0);
  const std::string type = scaling.word("rope_type", scaling.word("type", "default"));
  if (type == "default") return rotary;
  if (type != "llama3") {
    config.not_said("rope_type \"" + type + "\"", "\"default\" or \"llama3\"");
    return rotary;
  }
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"}) {
    if (scaling.has(key)) continue;
    throw std::runtime_error(std::string("scales rotary positions by \"llama3\" without its ") +
                             key);
  }
  rotary.scaling = scaling.real({"factor"}, 1.0);
  rotary.low = scaling.real({"low_freq_factor"}, rotary.low);
  rotary.high = scaling.real({"high_freq_factor"}, rotary.high);
  rotary.trained_tokens = scaling.number({"original_max_position_embeddings"},
                                         config.number({"max_position_embeddings"}));
  return rotary;
}

const BlockFamily& family_named(const std::string& type) {
  const std::span<const BlockFamily> families = block_families();
  const auto found = std::ranges::find(families, type, &BlockFamily::type);
  if (found != families.end()) return *found;
  std::vector<std::string> known;
  std::string list;
  for (const BlockFamily& family : families) {
    known.emplace_back(family.type);
    list += std::string(list.empty() ? "\"" : ", \"") + family.type + "\"";
  }
  throw std::runtime_error("is of model_type \"" + type + "\"" + did_you_mean(type, known) +
                           "; known: " + list);
}

void refuse_unknown(const ForeignKeys& config) {
  if (config.has("auto_map")) {
    throw std::runtime_error(
        "has an auto_map: its model is code of its own, which is neither run nor read here");
  }
  if (config.has("quantization_config")) {
    throw std::runtime_error(
        "has a quantization_config, and only numbers as they are are known here");
  }
  if (const std::string key = config.experts(); !key.empty()) {
    throw std::runtime_error("has experts (" + key +
                             "), and only blocks that every token goes through are known here");
  }
}

// One GELU by another name.
std::string plain_activation(const std::string& word) {
  if (word == "gelu_pytorch_tanh" || word == "gelu_fast") return "gelu_new";
  return word == "swish" ? "silu" : word;
}

void read_activation(const ForeignKeys& config, const BlockFamily& family) {
  const char* const usual = config.key({"hidden_act", "activation_function", "activation"});
  const char* const key = config.has("hidden_activation") ? "hidden_activation" : usual;
  const std::string said = config.word(key, family.activation);
  const std::string taken = family.mlp == MlpKind::swiglu ? "silu" : "gelu_new";
  if (plain_activation(said) == taken) return;
  config.not_said(std::string(key) + " \"" + said + "\"", '"' + taken + '"');
}

// A key that is left out means what the family's code takes; null, as many as there are heads.
void read_heads(const ForeignKeys& config, const FamilyHeads& left_out, Model& model) {
  const Keys shares{"num_key_value_heads", "num_kv_heads", "n_head_kv"};
  const bool shares_said =
      std::ranges::any_of(shares, [&](const char* key) { return config.says(key); });
  const std::int64_t shared_usual =
      shares_said || left_out.key_value_heads == 0 ? model.heads : left_out.key_value_heads;
  const std::int64_t shared = config.number(shares, shared_usual);
  if (shared != model.heads) model.key_value_heads = shared;
  const std::int64_t usual = config.says("head_dim") ? 0 : left_out.head_size;
  const std::int64_t columns = config.number({"head_dim"}, usual);
  if (columns * model.heads != model.hidden) model.head_size = columns;
}

Model model_of(const ForeignKeys& config, const BlockFamily& family) {
  Model model;
  model.layers = config.number({"num_hidden_layers", "n_layer"});
  model.hidden = config.number({"hidden_size", "n_embd", "n_embed"});
  model.heads = config.number({"num_attention_heads", "n_head"});
  model.sequence =
      config.number({"max_position_embeddings", "n_positions", "seq_length", "max_sequence_length"},
                    family.left_out.tokens);
  model.vocabulary = config.number({"vocab_size"});
  const Keys widths{"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"};
  const std::int64_t width = family.mlp == MlpKind::swiglu
                                 ? config.number(widths)
                                 : config.number(widths, 4 * model.hidden);
  if (width != 4 * model.hidden) model.mlp_width = width;
  read_heads(config, family.left_out, model);
  model.norm = family.norm;
  model.norm_epsilon =
      config.real({"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_epsilon"},
                  family.norm == NormKind::rms ? 1e-6 : 1e-5);
  model.position = family.position;
  if (family.position == PositionKind::rotary) model.rotary = rotary_of(config);
  model.mlp = family.mlp;
  model.biases = family.biases;
  model.embeddings = config.flag("tie_word_embeddings", family.tied) ? EmbeddingsKind::tied
                                                                     : EmbeddingsKind::untied;
  read_activation(config, family);
  family.own(config, model);
  config.list_unread();
  return model;
}

}  // namespace

std::int64_t parameter_count(const ForeignModel& foreign) {
  std::int64_t count = std::llround(parameter_count(foreign.model));
  for (const NotSaid& one : foreign.not_said) count += one.parameters;
  return count;
}

std::string not_said_sentence(const std::string& file, const std::vector<NotSaid>& not_said) {
  std::string known, unknown;
  for (const NotSaid& one : not_said) {
    std::string& list = one.taken.empty() ? unknown : known;
    list += (list.empty() ? "" : ", ") + one.what;
    if (!one.taken.empty()) list += " (taken as " + one.taken + ")";
  }
  if (!known.empty()) known = " says what no block here has: " + known;
  if (!unknown.empty()) {
    known +=
        (known.empty() ? " has" : "; it has") + (" keys that are left out, as nobody here knows"
                                                 " them: " +
                                                 unknown);
  }
  return known.empty() ? "" : file + known;
}

ForeignModel model_in_config(const nlohmann::json& json, const std::string& name) {
  ForeignModel foreign;
  const ForeignKeys config(json, foreign.not_said);
  refuse_unknown(config);
  if (!config.has("model_type")) {
    throw std::runtime_error("says no model_type, as a config.json of Hugging Face does");
  }
  foreign.model = model_of(config, family_named(config.word("model_type", "none")));
  foreign.model.name = name;
  for (const std::string& why : {excess(foreign.model), contradiction(foreign.model)}) {
    if (!why.empty()) throw std::runtime_error("describes no model: " + why);
  }
  return foreign;
}

std::string name_of_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  return made_plain(
      fs::absolute(folder + "/.").lexically_normal().parent_path().filename().string());
}

}  // namespace fourfold::inline schedule::inline models
