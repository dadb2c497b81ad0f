// GPT-2's and Llama's tensors and configurations; see foreign_layout.hpp.
#include "engine/train/checkpoint/foreign_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "schedule/models/foreign_config.hpp"
#include "schedule/order/step.hpp"

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

// The columns of a matrix of ours that a tensor of theirs has: how many, and which comes where if
// not each in its own place.
struct Columns {
  std::int64_t count;
  std::function<std::int64_t(std::int64_t)> of_ours = nullptr;
};
using ColumnsOf = Columns (*)(const Model& model, std::int64_t all);

constexpr ColumnsOf every = [](const Model&, std::int64_t all) { return Columns{all}; };

// Ours stand group by group, queries before a key and a value: so many of a group from one on.
Columns heads(const Model& model, std::int64_t count, std::int64_t first) {
  const std::int64_t d = model.head_columns(), of_group = model.group() + 2;
  return {model.kv_heads() * count * d, [=](std::int64_t col) {
            const std::int64_t head = col / d;
            return (of_group * (head / count) + first + head % count) * d + col % d;
          }};
}
constexpr ColumnsOf queries = [](const Model& m, auto) { return heads(m, m.group(), 0); };
constexpr ColumnsOf keys = [](const Model& m, auto) { return heads(m, 1, m.group()); };
constexpr ColumnsOf values = [](const Model& m, auto) { return heads(m, 1, m.group() + 1); };

// All queries, all keys, all values, of groups of one.
Columns heads_by_kind(const Model& model, std::int64_t all) {
  return {all, [d = model.head_columns(), of_kind = all / 3](std::int64_t col) {
            return (3 * (col % of_kind / d) + col / of_kind) * d + col % d;
          }};
}

// Ours stand each before what it lets through.
Columns pairs(std::int64_t all, std::int64_t which) {
  return {all / 2, [which](std::int64_t col) { return 2 * col + which; }};
}
constexpr ColumnsOf gates = [](const Model&, std::int64_t all) { return pairs(all, 0); };
constexpr ColumnsOf gated = [](const Model&, std::int64_t all) { return pairs(all, 1); };

// As ours, the other way around (outputs x inputs), or one row of ours: a bias or scale, an offset.
enum class Lies : std::uint8_t { as_ours, turned, first_row, second_row };

struct Row {
  const char* theirs;
  const char* ours;
  Lies lies = Lies::as_ours;
  ColumnsOf columns = every;
};

// The tensors of a layer in the order in which they are written.
constexpr std::initializer_list<Row> gpt2_layer{
    {"ln_1.weight", "norm1", Lies::first_row},
    {"ln_1.bias", "norm1", Lies::second_row},
    {"attn.c_attn.weight", "qkv.weight", {}, heads_by_kind},
    {"attn.c_attn.bias", "qkv.bias", Lies::first_row, heads_by_kind},
    {"attn.c_proj.weight", "projection.weight"},
    {"attn.c_proj.bias", "projection.bias", Lies::first_row},
    {"ln_2.weight", "norm2", Lies::first_row},
    {"ln_2.bias", "norm2", Lies::second_row},
    {"mlp.c_fc.weight", "up.weight"},
    {"mlp.c_fc.bias", "up.bias", Lies::first_row},
    {"mlp.c_proj.weight", "down.weight"},
    {"mlp.c_proj.bias", "down.bias", Lies::first_row}};
constexpr std::initializer_list<Row> llama_layer{
    {"input_layernorm.weight", "norm1", Lies::first_row},
    {"self_attn.q_proj.weight", "qkv.weight", Lies::turned, queries},
    {"self_attn.q_proj.bias", "qkv.bias", Lies::first_row, queries},
    {"self_attn.k_proj.weight", "qkv.weight", Lies::turned, keys},
    {"self_attn.k_proj.bias", "qkv.bias", Lies::first_row, keys},
    {"self_attn.v_proj.weight", "qkv.weight", Lies::turned, values},
    {"self_attn.v_proj.bias", "qkv.bias", Lies::first_row, values},
    {"self_attn.o_proj.weight", "projection.weight", Lies::turned},
    {"self_attn.o_proj.bias", "projection.bias", Lies::first_row},
    {"post_attention_layernorm.weight", "norm2", Lies::first_row},
    {"mlp.gate_proj.weight", "up.weight", Lies::turned, gates},
    {"mlp.gate_proj.bias", "up.bias", Lies::first_row, gates},
    {"mlp.up_proj.weight", "up.weight", Lies::turned, gated},
    {"mlp.up_proj.bias", "up.bias", Lies::first_row, gated},
    {"mlp.down_proj.weight", "down.weight", Lies::turned},
    {"mlp.down_proj.bias", "down.bias", Lies::first_row}};

// By name, without the number of the layer: as all layers are alike, one says what each has.
std::map<std::string, Value> matrices_of(Model model) {
  model.layers = 1;
  const Program program = record_evaluation(model, {});
  std::map<std::string, Value> matrices;
  for (const Parameter& parameter : program.parameters) {
    const Value& weight = program[parameter.weight];
    matrices.emplace(weight.label.name, weight);
  }
  return matrices;
}

ForeignTensor tensor_of(const Model& model, const Row& row, const Value& ours) {
  const std::int64_t rows = ours.shape.rows.value({}), cols = ours.shape.cols.value({});
  const auto [count, column] = row.columns(model, cols);
  const auto place = [lies = row.lies, column = column](std::int64_t r, std::int64_t c) {
    if (lies == Lies::turned) std::swap(r, c);
    return std::pair{lies == Lies::second_row ? 1 : r, column ? column(c) : c};
  };
  const std::vector<std::int64_t> shape = row.lies == Lies::as_ours  ? std::vector{rows, count}
                                          : row.lies == Lies::turned ? std::vector{count, rows}
                                                                     : std::vector{count};
  return {row.theirs, shape, ours.label.full(), rows, cols, place};
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
  std::map<std::string, Value> ours = matrices_of(model);
  std::vector<ForeignTensor> all;
  // Nothing of what the model does not have: learned positions, a head, biases.
  const auto add = [&](const std::string& before, const Row& row, std::int64_t layer = -1) {
    const auto own = ours.find(row.ours);
    if (own == ours.end()) return;
    own->second.label.layer = layer;
    all.push_back(tensor_of(model, row, own->second));
    all.back().name.insert(0, before);
  };
  const bool llamas = &family == &llama;
  add(prefix, {family.embedding, "table"});
  add(prefix, {"wpe.weight", "positions"});
  for (std::int64_t i = 0; i < model.layers; ++i) {
    for (const Row& row : llamas ? llama_layer : gpt2_layer) {
      add(fmt::format("{}{}.{}.", prefix, llamas ? "layers" : "h", i), row, i);
    }
  }
  add(prefix, {llamas ? "norm.weight" : "ln_f.weight", "final_norm", Lies::first_row});
  if (!llamas) add(prefix, {"ln_f.bias", "final_norm", Lies::second_row});
  add("", {foreign_head, "head"});
  return all;
}

bool is_foreign_buffer(const std::string& tensor) {
  return tensor.ends_with(".attn.bias") || tensor.ends_with(".attn.masked_bias") ||
         tensor.ends_with(".rotary_emb.inv_freq");
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
