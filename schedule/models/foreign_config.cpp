// Families of models and their keys; see foreign_config.hpp; long because each family has some
// of its own.
#include "schedule/models/foreign_config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "schedule/models/layer_pattern.hpp"
#include "support/field.hpp"
#include "support/json_text.hpp"
#include "support/nearest_name.hpp"
#include "support/plain_name.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

using Keys = std::vector<const char*>;  // of one thing in several versions; the usual one first

// Reads a config, key by key; what it throws follows the file's name.
class Config {
 public:
  Config(const nlohmann::json& config, std::vector<NotSaid>& not_said)
      : config_(config), not_said_(not_said) {}

  bool has(const char* key) const {
    const auto value = config_.find(key);
    return value != config_.end() && !value->is_null();
  }
  // The first of them that is there; the usual one if none is.
  const char* key(const Keys& keys) const {
    const auto found = std::ranges::find_if(keys, [&](const char* key) { return has(key); });
    return found == keys.end() ? keys.front() : *found;
  }
  Config table(const char* key) const {
    if (!has(key)) return {none(), not_said_};
    if (config_.at(key).is_object()) return {config_.at(key), not_said_};
    throw std::runtime_error(std::string("has ") + key + " " + config_.at(key).dump() +
                             ", which is no table");
  }
  std::int64_t number(const Keys& keys) const {
    const char* const known = key(keys);
    const auto number = has(known) ? whole_in(config_.at(known), most_of_anything) : std::nullopt;
    if (number && *number > 0) return *number;
    throw std::runtime_error(std::string("does not say ") + known + " as a whole number");
  }
  std::int64_t number(const Keys& keys, std::int64_t usual) const {
    return has(key(keys)) ? number(keys) : usual;
  }
  double real(const Keys& keys, double usual) const {
    const char* const known = key(keys);
    if (!has(known)) return usual;
    if (config_.at(known).is_number()) return config_.at(known);
    throw std::runtime_error(std::string("does not say ") + known + " as a number");
  }
  bool flag(const char* key, bool usual) const {
    if (!has(key)) return usual;
    if (config_.at(key).is_boolean()) return config_.at(key);
    throw std::runtime_error(std::string("does not say ") + key + " as true or false");
  }
  std::string word(const char* key, const std::string& usual) const {
    if (!has(key)) return usual;
    if (config_.at(key).is_string() && config_.at(key) != "") return config_.at(key);
    throw std::runtime_error(std::string("does not say ") + key + " as a word");
  }
  // Lists a key that says anything else; `usual` is what it is without a word.
  void expect(const char* key, const nlohmann::json& taken, const nlohmann::json& usual) const {
    const nlohmann::json said = has(key) ? config_.at(key) : usual;
    const bool alike = said.is_number() ? taken.is_number() : said.type() == taken.type();
    if (!alike && !said.is_null() && !taken.is_null()) {
      throw std::runtime_error(std::string("has ") + key + " " + said.dump() + ", and only " +
                               taken.dump() + " is known here");
    }
    if (said != taken) not_said(std::string(key) + " " + said.dump(), taken.dump());
  }
  void expect(const char* key, const nlohmann::json& taken) const { expect(key, taken, taken); }
  void not_said(const std::string& what, const std::string& taken,
                std::int64_t parameters = 0) const {
    not_said_.push_back({what, taken, parameters});
  }

 private:
  static const nlohmann::json& none() {
    static const nlohmann::json empty = nlohmann::json::object();
    return empty;
  }
  const nlohmann::json& config_;
  std::vector<NotSaid>& not_said_;
};

// Of today's rope_parameters, or rope_theta beside the rope_scaling of earlier versions.
Rotary rotary_of(const Config& config) {
  const Config scaling =
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

// What a family's block is like, where its keys do not say it.
struct Family {
  const char* type;
  NormKind norm;
  PositionKind position;
  MlpKind mlp;
  bool biases;
  bool tied;
  const char* activation;
  void (*own)(const Config& config, Model& model);  // what it has of its own
};

constexpr std::int64_t no_window = most_of_anything;

// A window in all layers but the last of every `period`; one that is no shorter than the tokens
// that are seen leaves nothing out.
void windows(const Config& config, Model& model, std::int64_t usual, std::int64_t period = 0) {
  const std::int64_t window = config.number({"sliding_window"}, usual);
  if (window >= model.sequence || !config.flag("use_sliding_window", true)) return;
  std::vector<std::int64_t> of(static_cast<std::size_t>(std::max<std::int64_t>(1, period)), window);
  if (period > 0) of.back() = 0;
  model.layer_pattern = pattern_of_windows(of);
}

// A window that begins in a layer of its own repeats in no pattern.
void expect_no_window(const Config& config, const Model& model) {
  const std::int64_t window = config.number({"sliding_window"}, no_window);
  if (window >= model.sequence || !config.flag("use_sliding_window", false)) return;
  config.not_said("sliding_window " + std::to_string(window), "null");
}

// Elements of a norm's parameters.
std::int64_t norm_of(const Model& model) {
  return model.norm == NormKind::rms ? model.hidden : 2 * model.hidden;
}

void one_norm(const Config& config, const Model& model) {
  config.not_said("one norm for attention and the MLP", "two", -model.layers * norm_of(model));
}

void of_gpt2(const Config& config, Model&) {
  config.expect("scale_attn_weights", true);
  config.expect("scale_attn_by_inverse_layer_idx", false);
  config.expect("add_cross_attention", false);
}

void of_llama(const Config& config, Model& model) {
  config.expect("partial_rotary_factor", 1.0);
  model.biases = config.flag("attention_bias", false);
  if (config.flag("mlp_bias", false) == model.biases) return;
  const std::int64_t h = model.hidden;
  const std::int64_t columns = model.biases ? model.qkv_columns() + h : model.up_columns() + h;
  config.not_said(model.biases ? "biases in attention alone" : "biases in the MLP alone", "none",
                  model.layers * columns);
  model.biases = false;
}

void of_mistral(const Config& config, Model& model) {
  windows(config, model, no_window);
}

void of_qwen2(const Config& config, Model& model) {
  config.not_said("biases of queries, keys and values", "none", model.layers * model.qkv_columns());
  expect_no_window(config, model);
}

void of_qwen3(const Config& config, Model& model) {
  of_llama(config, model);
  model.query_key_norm = QueryKeyNormKind::heads;
  expect_no_window(config, model);
}

void of_gemma(const Config& config, Model&) {
  config.not_said("embeddings times the root of hidden", "unscaled");
}

void of_gemma2(const Config& config, Model& model) {
  of_gemma(config, model);
  model.norm_place = NormPlace::both;
  config.expect("attn_logit_softcapping", nullptr, 50.0);
  config.expect("final_logit_softcapping", nullptr, 30.0);
  windows(config, model, 4096, 2);
}

void of_gemma3(const Config& config, Model& model) {
  of_gemma(config, model);
  model.norm_place = NormPlace::both;
  model.query_key_norm = QueryKeyNormKind::heads;
  config.not_said("rotary positions of another base in layers with a window", "one base");
  windows(config, model, 4096, config.number({"sliding_window_pattern"}, 6));
}

void of_phi(const Config& config, Model& model) {
  model.residual = ResidualKind::parallel;
  config.expect("partial_rotary_factor", 1.0, 0.5);
  config.expect("qk_layernorm", false);
  one_norm(config, model);
  config.not_said("a bias of the head", "none", model.vocabulary);
}

void of_phi3(const Config& config, Model& model) {
  config.expect("partial_rotary_factor", 1.0);
  windows(config, model, no_window);
}

void of_neox(const Config& config, Model& model) {
  if (config.flag("use_parallel_residual", true)) model.residual = ResidualKind::parallel;
  if (config.has("partial_rotary_factor")) return config.expect("partial_rotary_factor", 1.0);
  config.expect("rotary_pct", 1.0, 0.25);
}

void of_falcon(const Config& config, Model& model) {
  model.biases = config.flag("bias", false);
  const bool two_norms = config.flag("new_decoder_architecture", false);
  if (!two_norms) model.key_value_heads = config.flag("multi_query", true) ? 1 : 0;
  if (two_norms || config.flag("parallel_attn", true)) model.residual = ResidualKind::parallel;
  const bool shared = config.number({"num_ln_in_parallel_attn"}, two_norms ? 2 : 1) == 1;
  if (model.residual == ResidualKind::parallel && shared) one_norm(config, model);
  config.expect("alibi", false);
}

void of_opt(const Config& config, Model& model) {
  model.biases = config.flag("enable_bias", true);
  config.not_said("two positions more than tokens", "none more", 2 * model.hidden);
  config.expect("do_layer_norm_before", true);
  config.expect("word_embed_proj_dim", model.hidden);
}

void of_bloom(const Config& config, Model& model) {
  config.not_said("positions by ALiBi", "rotary");
  config.not_said("a norm of the embedding", "none", norm_of(model));
}

void of_bigcode(const Config& config, Model& model) {
  if (config.flag("multi_query", true)) model.key_value_heads = 1;
}

void of_starcoder2(const Config& config, Model& model) {
  model.biases = config.flag("use_bias", true);
  windows(config, model, no_window);
}

void of_olmo(const Config& config, Model& model) {
  of_llama(config, model);
  config.not_said("norms without parameters", "with them",
                  -(2 * model.layers + 1) * norm_of(model));
  config.expect("clip_qkv", nullptr);
}

void of_olmo2(const Config& config, Model& model) {
  of_llama(config, model);
  model.norm_place = NormPlace::after;
  model.query_key_norm = QueryKeyNormKind::all;
}

void of_granite(const Config& config, Model& model) {
  of_llama(config, model);
  for (const char* key : {"embedding_multiplier", "residual_multiplier", "logits_scaling"}) {
    config.expect(key, 1.0);
  }
  if (config.has("attention_multiplier")) {
    config.not_said("an attention_multiplier", "the root of a head's columns");
  }
}

constexpr auto layer = NormKind::layer;
constexpr auto rms = NormKind::rms;
constexpr auto learned = PositionKind::learned;
constexpr auto rotary = PositionKind::rotary;
constexpr auto gelu = MlpKind::gelu;
constexpr auto gated = MlpKind::swiglu;
constexpr const char* tanh_gelu = "gelu_pytorch_tanh";

constexpr std::array families{
    Family{"gpt2", layer, learned, gelu, true, true, "gelu_new", of_gpt2},
    Family{"llama", rms, rotary, gated, false, false, "silu", of_llama},
    Family{"mistral", rms, rotary, gated, false, false, "silu", of_mistral},
    Family{"qwen2", rms, rotary, gated, false, false, "silu", of_qwen2},
    Family{"qwen3", rms, rotary, gated, false, false, "silu", of_qwen3},
    Family{"gemma", rms, rotary, gated, false, true, tanh_gelu, of_gemma},
    Family{"gemma2", rms, rotary, gated, false, true, tanh_gelu, of_gemma2},
    Family{"gemma3_text", rms, rotary, gated, false, true, tanh_gelu, of_gemma3},
    Family{"phi", layer, rotary, gelu, true, false, "gelu_new", of_phi},
    Family{"phi3", rms, rotary, gated, false, false, "silu", of_phi3},
    Family{"gpt_neox", layer, rotary, gelu, true, false, "gelu", of_neox},
    Family{"falcon", layer, rotary, gelu, false, true, "gelu", of_falcon},
    Family{"opt", layer, learned, gelu, true, true, "relu", of_opt},
    Family{"bloom", layer, rotary, gelu, true, true, tanh_gelu, of_bloom},
    Family{"gpt_bigcode", layer, learned, gelu, true, true, tanh_gelu, of_bigcode},
    Family{"starcoder2", layer, rotary, gelu, true, true, tanh_gelu, of_starcoder2},
    Family{"olmo", layer, rotary, gated, false, false, "silu", of_olmo},
    Family{"olmo2", rms, rotary, gated, false, false, "silu", of_olmo2},
    Family{"granite", rms, rotary, gated, false, false, "silu", of_granite},
};

const Family& family_named(const std::string& type) {
  const auto* const found = std::ranges::find(families, type, &Family::type);
  if (found != families.end()) return *found;
  std::vector<std::string> known;
  std::string list;
  for (const Family& family : families) {
    known.emplace_back(family.type);
    list += std::string(list.empty() ? "\"" : ", \"") + family.type + "\"";
  }
  throw std::runtime_error("is of model_type \"" + type + "\"" + did_you_mean(type, known) +
                           "; known: " + list);
}

void refuse_unknown(const Config& config) {
  if (config.has("auto_map")) {
    throw std::runtime_error(
        "has an auto_map: its model is code of its own, which is neither run nor read here");
  }
  if (config.has("quantization_config")) {
    throw std::runtime_error(
        "has a quantization_config, and only numbers as they are are known here");
  }
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
    if (config.number({key}, 1) == 1) continue;
    throw std::runtime_error(std::string("has experts (") + key +
                             "), and only blocks that every token goes through are known here");
  }
}

// One GELU by another name.
std::string plain_activation(const std::string& word) {
  if (word == "gelu_pytorch_tanh" || word == "gelu_fast") return "gelu_new";
  return word == "swish" ? "silu" : word;
}

void read_activation(const Config& config, const Family& family) {
  const char* const key = config.has("hidden_activation")
                              ? "hidden_activation"
                              : config.key({"hidden_act", "activation_function", "activation"});
  const std::string said = config.word(key, family.activation);
  const std::string taken = family.mlp == gated ? "silu" : "gelu_new";
  if (plain_activation(said) == taken) return;
  config.not_said(std::string(key) + " \"" + said + "\"", '"' + taken + '"');
}

Model model_of(const Config& config, const Family& family) {
  Model model;
  model.layers = config.number({"num_hidden_layers", "n_layer"});
  model.hidden = config.number({"hidden_size", "n_embd", "n_embed"});
  model.heads = config.number({"num_attention_heads", "n_head"});
  model.sequence =
      config.number({"max_position_embeddings", "n_positions", "seq_length"}, model.sequence);
  model.vocabulary = config.number({"vocab_size"});
  const std::int64_t width = config.number(
      {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"}, 4 * model.hidden);
  if (width != 4 * model.hidden) model.mlp_width = width;
  const std::int64_t shared =
      config.number({"num_key_value_heads", "num_kv_heads", "n_head_kv"}, model.heads);
  if (shared != model.heads) model.key_value_heads = shared;
  if (config.has("head_dim") && config.number({"head_dim"}) * model.heads != model.hidden) {
    model.head_size = config.number({"head_dim"});
  }
  model.norm = family.norm;
  model.norm_epsilon =
      config.real({"rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_epsilon"},
                  family.norm == rms ? 1e-6 : 1e-5);
  model.position = family.position;
  if (family.position == rotary) model.rotary = rotary_of(config);
  model.mlp = family.mlp;
  model.biases = family.biases;
  model.embeddings = config.flag("tie_word_embeddings", family.tied) ? EmbeddingsKind::tied
                                                                     : EmbeddingsKind::untied;
  read_activation(config, family);
  family.own(config, model);
  return model;
}

}  // namespace

std::int64_t parameter_count(const ForeignModel& foreign) {
  std::int64_t count = std::llround(parameter_count(foreign.model));
  for (const NotSaid& one : foreign.not_said) count += one.parameters;
  return count;
}

std::string not_said_sentence(const std::string& file, const std::vector<NotSaid>& not_said) {
  std::string list;
  for (const NotSaid& one : not_said) {
    list += (list.empty() ? "" : ", ") + one.what + " (taken as " + one.taken + ")";
  }
  return list.empty() ? "" : file + " says what no block here has: " + list;
}

ForeignModel model_in_config(const nlohmann::json& json, const std::string& name) {
  ForeignModel foreign;
  const Config config(json, foreign.not_said);
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
