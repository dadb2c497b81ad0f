// GPT-2's and Llama's tensors and configurations; see foreign_layout.hpp.
#include "engine/train/checkpoint/foreign_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "schedule/models/foreign_config.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

constexpr ForeignFamily gpt2{"gpt2", "transformer.", "wte.weight"};
constexpr ForeignFamily llama{"llama", "model.", "embed_tokens.weight"};

// Norms before attention and the MLP alone, and layers that are all alike.
bool has_plain_layers(const Model& model) {
  return model.norm_place == NormPlace::before && model.query_key_norm == QueryKeyNormKind::none &&
         model.layer_pattern.empty();
}

bool is_gpt2(const Model& model) {
  return has_plain_layers(model) && model.norm == NormKind::layer &&
         model.position == PositionKind::learned && model.mlp == MlpKind::gelu && model.biases &&
         model.group() == 1 && model.attention_columns() == model.hidden &&
         model.residual == ResidualKind::sequential;
}

bool is_llama(const Model& model) {
  return has_plain_layers(model) && model.norm == NormKind::rms &&
         model.position == PositionKind::rotary && model.mlp == MlpKind::swiglu &&
         model.residual == ResidualKind::sequential;
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
  constexpr std::array types{"gpt2", "llama", "mistral"};
  const ForeignModel foreign = model_in_config(json, name);
  const std::string type = json.at("model_type");
  if (std::ranges::find(types, type) == types.end()) {
    throw std::runtime_error(fmt::format(
        "is of model_type \"{}\", whose weights are not known here; known are those of \"{}\"",
        type, fmt::join(types, "\", \"")));
  }
  for (const auto& [what, taken, parameters] : foreign.not_said) {
    if (taken.empty()) continue;  // a key that nobody knows: the tensors say whether all is there
    throw std::runtime_error(fmt::format("has {}, and only {} is known here", what, taken));
  }
  family_of(foreign.model);  // windows and other norms have no known layout
  return foreign.model;
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
