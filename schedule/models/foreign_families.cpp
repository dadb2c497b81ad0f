// Families of models, each with keys of its own; see foreign_families.hpp.
#include "schedule/models/foreign_families.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedule/models/layer_pattern.hpp"
#include "support/field.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

constexpr std::int64_t no_window = most_of_anything;

// Each layer's window, 0 for none, as the shortest pattern that repeats; one that is too long for
// a file that people read is named.
void set_windows(const ForeignKeys& config, Model& model, const std::vector<std::int64_t>& layers) {
  constexpr std::size_t longest = 16;
  const auto repeats = [&](std::size_t period) {
    const auto shift = static_cast<std::ptrdiff_t>(period);
    return std::equal(layers.begin() + shift, layers.end(), layers.begin());
  };
  std::size_t period = 1;
  while (!repeats(period)) ++period;
  if (period > longest) {
    return config.not_said("windows that begin or end in a layer of their own", "none");
  }
  std::vector<LayerKind> pattern;
  for (std::size_t layer = 0; layer < period; ++layer) pattern.push_back({layers[layer]});
  if (period > 1 || pattern.front().window > 0) model.layer_pattern = pattern_of(pattern);
}

struct WindowRule {
  std::int64_t usual = no_window;  // without a word; null says none
  bool on = true;                  // likewise
  std::int64_t period = 0;         // of whose layers the last has none; 0: all have one
  std::int64_t first = 0;          // before which none has one
};

// A window that is no shorter than the tokens that are seen leaves nothing out.
void windows(const ForeignKeys& config, Model& model, const WindowRule& rule = {}) {
  const bool none = config.says("sliding_window") && !config.has("sliding_window");
  const std::int64_t window = config.number({"sliding_window"}, rule.usual);
  const bool on = config.flag("use_sliding_window", rule.on) && !none;
  const std::vector<std::string> types = config.words("layer_types");
  if (!types.empty() && std::ssize(types) != model.layers) {
    throw std::runtime_error("has layer_types of " + std::to_string(types.size()) +
                             " layers, and num_hidden_layers " + std::to_string(model.layers));
  }
  std::vector<std::int64_t> layers;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    bool has = i >= rule.first && (rule.period == 0 || (i + 1) % rule.period != 0);
    if (!types.empty()) {
      const std::string& type = types[static_cast<std::size_t>(i)];
      has = type == "sliding_attention";
      if (!has && type != "full_attention") {
        throw std::runtime_error("has layer_types \"" + type +
                                 "\"; known: \"full_attention\", \"sliding_attention\"");
      }
    }
    layers.push_back(has ? window : 0);
  }
  if (window < model.sequence && on) set_windows(config, model, layers);
}

// As Qwen's: without a word there is none, and those of max_window_layers see all.
void windows_of_qwen(const ForeignKeys& config, Model& model, std::int64_t usual_first) {
  const std::int64_t first =
      config.is("max_window_layers", 0) ? 0 : config.number({"max_window_layers"}, usual_first);
  windows(config, model, {4096, false, 0, first});
}

// Elements of a norm's parameters.
std::int64_t norm_of(const Model& model) {
  return model.norm == NormKind::rms ? model.hidden : 2 * model.hidden;
}

void norms_without_parameters(const ForeignKeys& config, const Model& model) {
  config.not_said("norms without parameters", "with them",
                  -(2 * model.layers + 1) * norm_of(model));
}

void one_norm(const ForeignKeys& config, const Model& model) {
  config.not_said("one norm for attention and the MLP", "two", -model.layers * norm_of(model));
}

void of_gpt2(const ForeignKeys& config, Model&) {
  config.expect("scale_attn_weights", true);
  config.expect("scale_attn_by_inverse_layer_idx", false);
  config.expect("add_cross_attention", false);
}

void biases(const ForeignKeys& config, Model& model) {
  model.biases = config.flag("attention_bias", false);
  if (config.flag("mlp_bias", false) == model.biases) return;
  const std::int64_t h = model.hidden;
  const std::int64_t columns = model.biases ? model.qkv_columns() + h : model.up_columns() + h;
  config.not_said(model.biases ? "biases in attention alone" : "biases in the MLP alone", "none",
                  model.layers * columns);
  model.biases = false;
}

void of_llama(const ForeignKeys& config, Model& model) {
  config.expect("partial_rotary_factor", 1.0);
  biases(config, model);
}

void of_mistral(const ForeignKeys& config, Model& model) {
  windows(config, model, {4096});
}

void of_qwen2(const ForeignKeys& config, Model& model) {
  config.not_said("biases of queries, keys and values", "none", model.layers * model.qkv_columns());
  config.expect("use_mrope", false);
  windows_of_qwen(config, model, 28);
}

void of_qwen3(const ForeignKeys& config, Model& model) {
  of_llama(config, model);
  model.query_key_norm = QueryKeyNormKind::heads;
  windows_of_qwen(config, model, 28);
}

void of_gemma(const ForeignKeys& config, Model& model) {
  biases(config, model);
  config.not_said("embeddings times the root of hidden", "unscaled");
}

// Of what queries are divided by, unless it is the root of a head's columns.
void scale_of_queries(const ForeignKeys& config, const Model& model) {
  const std::int64_t columns = model.head_columns();
  if (config.number({"query_pre_attn_scalar"}, columns) == columns) return;
  config.not_said("a query_pre_attn_scalar", "the root of a head's columns");
}

void of_gemma2(const ForeignKeys& config, Model& model) {
  of_gemma(config, model);
  model.norm_place = NormPlace::both;
  config.expect("attn_logit_softcapping", nullptr, 50.0);
  config.expect("final_logit_softcapping", nullptr, 30.0);
  scale_of_queries(config, model);
  windows(config, model, {4096, true, 2});
}

void of_gemma3(const ForeignKeys& config, Model& model) {
  of_gemma(config, model);
  model.norm_place = NormPlace::both;
  model.query_key_norm = QueryKeyNormKind::heads;
  config.expect("attn_logit_softcapping", nullptr);
  config.expect("final_logit_softcapping", nullptr);
  config.expect("use_bidirectional_attention", false);
  scale_of_queries(config, model);
  config.has("rope_local_base_freq");  // which the next sentence names
  config.not_said("rotary positions of another base in layers with a window", "one base");
  const Keys period{"sliding_window_pattern", "_sliding_window_pattern"};
  windows(config, model, {4096, true, config.number(period, 6)});
}

void of_phi(const ForeignKeys& config, Model& model) {
  model.residual = ResidualKind::parallel;
  config.expect("partial_rotary_factor", 1.0, 0.5);
  config.expect("qk_layernorm", false);
  one_norm(config, model);
  config.not_said("a bias of the head", "none", model.vocabulary);
}

void of_phi3(const ForeignKeys& config, Model& model) {
  config.expect("partial_rotary_factor", 1.0);
  windows(config, model);
}

void of_neox(const ForeignKeys& config, Model& model) {
  if (!config.flag("attention_bias", true)) {
    config.not_said("no biases in attention", "biases",
                    -model.layers * (model.qkv_columns() + model.hidden));
  }
  if (config.flag("use_parallel_residual", true)) model.residual = ResidualKind::parallel;
  if (config.has("partial_rotary_factor")) return config.expect("partial_rotary_factor", 1.0);
  config.expect("rotary_pct", 1.0, 0.25);
}

void of_falcon(const ForeignKeys& config, Model& model) {
  model.biases = config.flag("bias", false);
  const bool two_norms = config.flag("new_decoder_architecture", false);
  if (!two_norms) model.key_value_heads = config.flag("multi_query", true) ? 1 : 0;
  if (two_norms || config.flag("parallel_attn", true)) model.residual = ResidualKind::parallel;
  const bool shared = config.number({"num_ln_in_parallel_attn"}, two_norms ? 2 : 1) == 1;
  if (model.residual == ResidualKind::parallel && shared) one_norm(config, model);
  config.expect("alibi", false);
  config.expect("apply_residual_connection_post_layernorm", false);
  config.has("ff_factor");  // which ffn_hidden_size says again
}

void of_opt(const ForeignKeys& config, Model& model) {
  model.biases = config.flag("enable_bias", true);
  config.not_said("two positions more than tokens", "none more", 2 * model.hidden);
  const bool before = config.flag("do_layer_norm_before", true);
  if (!before || config.flag("_remove_final_layer_norm", false)) {
    config.not_said("no last norm", "one", -norm_of(model));
  }
  if (!before) config.not_said("norms after what joins the residual stream", "before");
  if (!config.flag("layer_norm_elementwise_affine", true)) norms_without_parameters(config, model);
  const std::int64_t width = config.number({"word_embed_proj_dim"}, model.hidden);
  if (width == model.hidden) return;
  const std::int64_t tables = model.tied() ? 1 : 2;
  config.not_said(
      "word_embed_proj_dim " + std::to_string(width), std::to_string(model.hidden),
      (tables * model.vocabulary * (width - model.hidden)) + (2 * width * model.hidden));
}

void of_bloom(const ForeignKeys& config, Model& model) {
  config.not_said("positions by ALiBi", "rotary");
  config.not_said("a norm of the embedding", "none", norm_of(model));
  config.expect("apply_residual_connection_post_layernorm", false);
  config.has("offset_alibi");
}

void of_bigcode(const ForeignKeys& config, Model& model) {
  if (config.flag("multi_query", true)) model.key_value_heads = 1;
}

void of_starcoder2(const ForeignKeys& config, Model& model) {
  model.biases = config.flag("use_bias", true);
  config.expect("norm_type", "layer_norm");
  config.expect("mlp_type", "default");
  windows(config, model);
}

void of_olmo(const ForeignKeys& config, Model& model) {
  of_llama(config, model);
  norms_without_parameters(config, model);
  config.expect("clip_qkv", nullptr);
}

void of_olmo2(const ForeignKeys& config, Model& model) {
  of_llama(config, model);
  model.norm_place = NormPlace::after;
  model.query_key_norm = QueryKeyNormKind::all;
}

void of_granite(const ForeignKeys& config, Model& model) {
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

constexpr std::array families_known{
    BlockFamily{"gpt2", layer, learned, gelu, true, true, "gelu_new", {1024, 0, 0}, of_gpt2},
    BlockFamily{"llama", rms, rotary, gated, false, false, "silu", {2048, 0, 0}, of_llama},
    BlockFamily{"mistral", rms, rotary, gated, false, false, "silu", {131072, 8, 0}, of_mistral},
    BlockFamily{"qwen2", rms, rotary, gated, false, false, "silu", {32768, 32, 0}, of_qwen2},
    BlockFamily{"qwen3", rms, rotary, gated, false, false, "silu", {32768, 32, 128}, of_qwen3},
    BlockFamily{"gemma", rms, rotary, gated, false, true, tanh_gelu, {8192, 16, 256}, of_gemma},
    BlockFamily{"gemma2", rms, rotary, gated, false, true, tanh_gelu, {8192, 4, 256}, of_gemma2},
    BlockFamily{
        "gemma3_text", rms, rotary, gated, false, true, tanh_gelu, {131072, 4, 256}, of_gemma3},
    BlockFamily{"phi", layer, rotary, gelu, true, false, "gelu_new", {2048, 0, 0}, of_phi},
    BlockFamily{"phi3", rms, rotary, gated, false, false, "silu", {4096, 0, 0}, of_phi3},
    BlockFamily{"gpt_neox", layer, rotary, gelu, true, false, "gelu", {2048, 0, 0}, of_neox},
    BlockFamily{"falcon", layer, rotary, gelu, false, true, "gelu", {2048, 0, 0}, of_falcon},
    BlockFamily{"opt", layer, learned, gelu, true, true, "relu", {2048, 0, 0}, of_opt},
    BlockFamily{"bloom", layer, rotary, gelu, true, true, tanh_gelu, {2048, 0, 0}, of_bloom},
    BlockFamily{
        "gpt_bigcode", layer, learned, gelu, true, true, tanh_gelu, {1024, 0, 0}, of_bigcode},
    BlockFamily{
        "starcoder2", layer, rotary, gelu, true, true, tanh_gelu, {4096, 2, 0}, of_starcoder2},
    BlockFamily{"olmo", layer, rotary, gated, false, false, "silu", {2048, 0, 0}, of_olmo},
    BlockFamily{"olmo2", rms, rotary, gated, false, false, "silu", {2048, 0, 0}, of_olmo2},
    BlockFamily{"granite", rms, rotary, gated, false, false, "silu", {2048, 0, 0}, of_granite},
};

}  // namespace

std::span<const BlockFamily> block_families() {
  return families_known;
}

}  // namespace fourfold::inline schedule::inline models
