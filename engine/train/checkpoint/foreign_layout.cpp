// GPT-2's and Llama's tensors and configurations; see foreign_layout.hpp.
#include "engine/train/checkpoint/foreign_layout.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "support/field.hpp"
#include "support/json_text.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

constexpr ForeignFamily gpt2{"gpt2", "transformer.", "wte.weight"};
constexpr ForeignFamily llama{"llama", "model.", "embed_tokens.weight"};

bool is_gpt2(const Model& model) {
  return model.norm == NormKind::layer && model.position == PositionKind::learned &&
         model.mlp == MlpKind::gelu && model.biases && model.group() == 1 &&
         model.attention_columns() == model.hidden && model.residual == ResidualKind::sequential;
}

bool is_llama(const Model& model) {
  return model.norm == NormKind::rms && model.position == PositionKind::rotary &&
         model.mlp == MlpKind::swiglu && model.residual == ResidualKind::sequential;
}

// Reads a config, key by key; what it throws follows the file's name.
class Config {
 public:
  explicit Config(const nlohmann::json& config) : config_(config) {}

  bool has(const char* key) const {
    const auto value = config_.find(key);
    return value != config_.end() && !value->is_null();
  }
  Config table(const char* key) const {
    if (!has(key)) return Config(none());
    if (config_.at(key).is_object()) return Config(config_.at(key));
    throw std::runtime_error(
        fmt::format("has {} {}, which is no table", key, config_.at(key).dump()));
  }

  std::int64_t number(const char* key) const {
    const auto number = has(key) ? whole_in(config_.at(key), most_of_anything) : std::nullopt;
    if (number && *number > 0) return *number;
    throw std::runtime_error(fmt::format("does not say {} as a whole number", key));
  }
  std::int64_t number(const char* key, std::int64_t usual) const {
    return has(key) ? number(key) : usual;
  }
  double real(const char* key, double usual) const {
    if (!has(key)) return usual;
    if (config_.at(key).is_number()) return config_.at(key);
    throw std::runtime_error(fmt::format("does not say {} as a number", key));
  }
  bool flag(const char* key, const nlohmann::json& usual) const {
    const nlohmann::json value = has(key) ? config_.at(key) : usual;
    if (value.is_boolean()) return value;
    throw std::runtime_error(fmt::format("does not say {} as true or false", key));
  }
  std::string word(const char* key, const std::string& usual) const {
    if (!has(key)) return usual;
    return config_.at(key).is_string() ? config_.at(key).get<std::string>()
                                       : config_.at(key).dump();
  }
  void expect(const char* key, const nlohmann::json& usual) const {
    if (!has(key) || config_.at(key) == usual) return;
    throw std::runtime_error(fmt::format("has {} {}, and only {} is known here", key,
                                         config_.at(key).dump(), usual.dump()));
  }

 private:
  static const nlohmann::json& none() {
    static const nlohmann::json empty = nlohmann::json::object();
    return empty;
  }
  const nlohmann::json& config_;
};

EmbeddingsKind embeddings_of(const Config& config, const nlohmann::json& tied) {
  return config.flag("tie_word_embeddings", tied) ? EmbeddingsKind::tied : EmbeddingsKind::untied;
}

Model gpt2_of(const Config& config) {
  Model model;
  model.layers = config.number("n_layer");
  model.hidden = config.number("n_embd");
  model.heads = config.number("n_head");
  model.sequence = config.number("n_positions");
  model.vocabulary = config.number("vocab_size");
  const std::int64_t width = config.number("n_inner", 4 * model.hidden);
  if (width != 4 * model.hidden) model.mlp_width = width;
  model.norm_epsilon = config.real("layer_norm_epsilon", 1e-5);
  model.embeddings = embeddings_of(config, true);
  config.expect("activation_function", "gelu_new");
  config.expect("scale_attn_weights", true);
  config.expect("scale_attn_by_inverse_layer_idx", false);
  config.expect("add_cross_attention", false);
  return model;
}

// Of today's rope_parameters, or rope_theta beside the rope_scaling of earlier versions.
Rotary rotary_of(const Config& config) {
  const Config scaling =
      config.table(config.has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  Rotary rotary;
  rotary.base = scaling.real("rope_theta", config.real("rope_theta", 10'000.0));
  config.expect("partial_rotary_factor", 1.0);
  scaling.expect("partial_rotary_factor", 1.0);
  const std::string type = scaling.word("rope_type", scaling.word("type", "default"));
  if (type == "default") return rotary;
  if (type != "llama3") {
    throw std::runtime_error(
        fmt::format("scales rotary positions by \"{}\"; known: \"default\", \"llama3\"", type));
  }
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"}) {
    if (scaling.has(key)) continue;
    throw std::runtime_error(
        fmt::format("scales rotary positions by \"llama3\" without its {}", key));
  }
  rotary.scaling = scaling.real("factor", 1.0);
  rotary.low = scaling.real("low_freq_factor", rotary.low);
  rotary.high = scaling.real("high_freq_factor", rotary.high);
  rotary.trained_tokens =
      scaling.number("original_max_position_embeddings", config.number("max_position_embeddings"));
  return rotary;
}

Model llama_of(const Config& config) {
  Model model;
  model.layers = config.number("num_hidden_layers");
  model.hidden = config.number("hidden_size");
  model.heads = config.number("num_attention_heads");
  model.sequence = config.number("max_position_embeddings");
  model.vocabulary = config.number("vocab_size");
  model.norm = NormKind::rms;
  model.norm_epsilon = config.real("rms_norm_eps", 1e-6);
  model.position = PositionKind::rotary;
  model.rotary = rotary_of(config);
  const std::int64_t shared = config.number("num_key_value_heads", model.heads);
  if (shared != model.heads) model.key_value_heads = shared;
  if (config.has("head_dim") && config.number("head_dim") * model.heads != model.hidden) {
    model.head_size = config.number("head_dim");
  }
  model.mlp = MlpKind::swiglu;
  model.mlp_width = config.number("intermediate_size");
  model.biases = config.flag("attention_bias", false);
  model.embeddings = embeddings_of(config, false);
  if (config.flag("mlp_bias", false) != model.biases) {
    throw std::runtime_error("has biases in attention or in the MLP; only both or none are known");
  }
  config.expect("hidden_act", "silu");
  return model;
}

nlohmann::json gpt2_config(const Model& model) {
  return {{"architectures", {"GPT2LMHeadModel"}},
          {"n_layer", model.layers},
          {"n_embd", model.hidden},
          {"n_head", model.heads},
          {"n_positions", model.sequence},
          {"n_ctx", model.sequence},
          {"n_inner", model.width()},
          {"activation_function", "gelu_new"},
          {"layer_norm_epsilon", model.norm_epsilon}};
}

nlohmann::json llama_config(const Model& model) {
  nlohmann::json config{{"architectures", {"LlamaForCausalLM"}},
                        {"num_hidden_layers", model.layers},
                        {"hidden_size", model.hidden},
                        {"num_attention_heads", model.heads},
                        {"num_key_value_heads", model.kv_heads()},
                        {"head_dim", model.head_columns()},
                        {"intermediate_size", model.width()},
                        {"max_position_embeddings", model.sequence},
                        {"rms_norm_eps", model.norm_epsilon},
                        {"rope_theta", model.rotary.base},
                        {"rope_scaling", nullptr},
                        {"hidden_act", "silu"},
                        {"attention_bias", model.biases},
                        {"mlp_bias", model.biases}};
  if (model.rotary.scaling != 1.0) {
    config["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", model.rotary.scaling},
                              {"low_freq_factor", model.rotary.low},
                              {"high_freq_factor", model.rotary.high},
                              {"original_max_position_embeddings", model.rotary.trained_tokens}};
  }
  return config;
}

using Place = std::pair<std::int64_t, std::int64_t>;
using Column = std::function<std::int64_t(std::int64_t)>;

Place same(std::int64_t row, std::int64_t col) {
  return {row, col};
}

// A matrix of ours.
struct Ours {
  std::string name;
  std::int64_t rows, cols;
};

class TensorList {
 public:
  explicit TensorList(std::string prefix) : prefix_(std::move(prefix)) {}

  // As it is.
  void table(const std::string& theirs, const Ours& ours) {
    add(theirs, {ours.rows, ours.cols}, ours, same);
  }
  // The scale, and an offset if ours has a second row.
  void norm(const std::string& theirs, const Ours& ours) {
    add(theirs + ".weight", {ours.cols}, ours, same);
    if (ours.rows == 1) return;
    add(theirs + ".bias", {ours.cols}, ours, [](std::int64_t, std::int64_t col) {
      return Place{1, col};
    });
  }
  // Inputs x outputs.
  void conv1d(const std::string& theirs, const Ours& ours, const Column& column) {
    add(theirs + ".weight", {ours.rows, ours.cols}, weight(ours),
        [column](std::int64_t row, std::int64_t col) {
          return Place{row, column(col)};
        });
    bias(theirs, ours.cols, ours, column);
  }
  // Outputs x inputs: so many of the columns of ours.
  void linear(const std::string& theirs, std::int64_t outputs, const Ours& ours,
              const Column& column) {
    add(theirs + ".weight", {outputs, ours.rows}, weight(ours),
        [column](std::int64_t row, std::int64_t col) {
          return Place{col, column(row)};
        });
  }
  void bias(const std::string& theirs, std::int64_t outputs, const Ours& ours,
            const Column& column) {
    add(theirs + ".bias", {outputs}, {ours.name + ".bias", 1, ours.cols},
        [column](std::int64_t, std::int64_t col) {
          return Place{0, column(col)};
        });
  }
  void head(const Ours& ours) {
    all_.push_back({foreign_head, {ours.rows, ours.cols}, ours.name, ours.rows, ours.cols, same});
  }

  std::vector<ForeignTensor> take() { return std::move(all_); }

 private:
  static Ours weight(const Ours& ours) { return {ours.name + ".weight", ours.rows, ours.cols}; }
  void add(const std::string& theirs, const std::vector<std::int64_t>& shape, const Ours& ours,
           const decltype(ForeignTensor::place)& place) {
    all_.push_back({prefix_ + theirs, shape, ours.name, ours.rows, ours.cols, place});
  }

  std::string prefix_;
  std::vector<ForeignTensor> all_;
};

void add_gpt2_block(const Model& model, std::int64_t layer, TensorList& list) {
  const std::int64_t h = model.hidden, d = model.head_columns(), width = model.width();
  const std::string theirs = fmt::format("h.{}.", layer), ours = fmt::format("block{}.", layer);
  const auto same_column = [](std::int64_t col) { return col; };
  list.norm(theirs + "ln_1", {ours + "norm1", 2, h});
  list.conv1d(theirs + "attn.c_attn", {ours + "qkv", h, 3 * h}, [h, d](std::int64_t col) {
    const std::int64_t which = col / h, within = col % h;
    return (3 * (within / d) + which) * d + within % d;
  });
  list.conv1d(theirs + "attn.c_proj", {ours + "projection", h, h}, same_column);
  list.norm(theirs + "ln_2", {ours + "norm2", 2, h});
  list.conv1d(theirs + "mlp.c_fc", {ours + "up", h, width}, same_column);
  list.conv1d(theirs + "mlp.c_proj", {ours + "down", width, h}, same_column);
}

void add_llama_block(const Model& model, std::int64_t layer, TensorList& list) {
  const std::int64_t h = model.hidden, d = model.head_columns(), group = model.group();
  const std::string theirs = fmt::format("layers.{}.", layer);
  const std::string ours = fmt::format("block{}.", layer);
  const auto linear = [&](const std::string& name, std::int64_t outputs, const Ours& matrix,
                          const Column& column) {
    list.linear(theirs + name, outputs, matrix, column);
    if (model.biases) list.bias(theirs + name, outputs, matrix, column);
  };
  const Ours qkv{ours + "qkv", h, model.qkv_columns()}, up{ours + "up", h, model.up_columns()};
  const std::int64_t shared = model.kv_heads() * d;
  // Head `which` of a group of `of_theirs` heads that stand side by side there.
  const auto heads = [d, group](std::int64_t of_theirs, std::int64_t which) {
    return [d, group, of_theirs, which](std::int64_t col) {
      const std::int64_t head = col / d;
      return ((group + 2) * (head / of_theirs) + which + head % of_theirs) * d + col % d;
    };
  };
  const auto pairs = [](std::int64_t which) {
    return [which](std::int64_t col) { return 2 * col + which; };
  };
  const auto same_column = [](std::int64_t col) { return col; };
  list.norm(theirs + "input_layernorm", {ours + "norm1", 1, h});
  linear("self_attn.q_proj", model.attention_columns(), qkv, heads(group, 0));
  linear("self_attn.k_proj", shared, qkv, heads(1, group));
  linear("self_attn.v_proj", shared, qkv, heads(1, group + 1));
  linear("self_attn.o_proj", h, {ours + "projection", model.attention_columns(), h}, same_column);
  list.norm(theirs + "post_attention_layernorm", {ours + "norm2", 1, h});
  linear("mlp.gate_proj", model.width(), up, pairs(0));
  linear("mlp.up_proj", model.width(), up, pairs(1));
  linear("mlp.down_proj", h, {ours + "down", model.width(), h}, same_column);
}

}  // namespace

const ForeignFamily& family_of(const Model& model) {
  if (is_gpt2(model)) return gpt2;
  if (is_llama(model)) return llama;
  const std::string shape = block_shape(model);
  throw std::runtime_error("is neither a GPT-2 nor a Llama, whose layouts are known: " +
                           (shape.empty() ? "another block" : shape));
}

Model model_of_config(const nlohmann::json& json, const std::string& name) {
  const Config config(json);
  const std::string type = config.word("model_type", "none");
  if (type != gpt2.model_type && type != llama.model_type) {
    throw std::runtime_error(fmt::format("is of model_type \"{}\"; known: \"{}\", \"{}\"", type,
                                         gpt2.model_type, llama.model_type));
  }
  if (config.has("quantization_config")) {
    throw std::runtime_error(
        "has a quantization_config, and only numbers as they are are known here");
  }
  Model model = type == gpt2.model_type ? gpt2_of(config) : llama_of(config);
  model.name = name;
  for (const std::string& why : {excess(model), contradiction(model)}) {
    if (!why.empty()) throw std::runtime_error("describes no model: " + why);
  }
  return model;
}

nlohmann::json config_of(const Model& model) {
  const ForeignFamily& family = family_of(model);
  nlohmann::json config = &family == &gpt2 ? gpt2_config(model) : llama_config(model);
  config["model_type"] = family.model_type;
  config["vocab_size"] = model.vocabulary;
  config["tie_word_embeddings"] = model.tied();
  config["torch_dtype"] = "float32";
  return config;
}

std::vector<ForeignTensor> foreign_tensors(const Model& model, const std::string& prefix) {
  const ForeignFamily& family = family_of(model);
  const bool llamas = &family == &llama;
  TensorList list(prefix);
  list.table(family.embedding, {"table", model.vocabulary, model.hidden});
  if (!llamas) list.table("wpe.weight", {"positions", model.sequence, model.hidden});
  for (std::int64_t i = 0; i < model.layers; ++i) {
    llamas ? add_llama_block(model, i, list) : add_gpt2_block(model, i, list);
  }
  list.norm(llamas ? "norm" : "ln_f", {"final_norm", llamas ? 1 : 2, model.hidden});
  if (!model.tied()) list.head({"head", model.vocabulary, model.hidden});
  return list.take();
}

bool is_foreign_buffer(const std::string& tensor) {
  return tensor.ends_with(".attn.bias") || tensor.ends_with(".attn.masked_bias") ||
         tensor.ends_with(".rotary_emb.inv_freq");
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
