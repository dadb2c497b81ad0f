// Configurations and launches of others as models: every entry means what it says, is named among
// what no block here has, or is refused; and two notations of one model read alike.
#include "schedule/models/foreign_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "schedule/models/launch_words.hpp"
#include "schedule/models/layer_pattern.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_template.hpp"
#include "schedule/models/parameter_count.hpp"
#include "tests/edits.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// As of the files that their makers publish, in the keys that a block is read from.
json mistral() {
  return {{"model_type", "mistral"},     {"hidden_size", 4096},
          {"num_hidden_layers", 32},     {"num_attention_heads", 32},
          {"num_key_value_heads", 8},    {"intermediate_size", 14336},
          {"vocab_size", 32000},         {"max_position_embeddings", 32768},
          {"rms_norm_eps", 1e-5},        {"rope_theta", 10000.0},
          {"sliding_window", 4096},      {"hidden_act", "silu"},
          {"tie_word_embeddings", false}};
}

json neox() {
  return {{"model_type", "gpt_neox"},        {"hidden_size", 6144},
          {"num_hidden_layers", 44},         {"num_attention_heads", 64},
          {"intermediate_size", 24576},      {"vocab_size", 50432},
          {"max_position_embeddings", 2048}, {"layer_norm_eps", 1e-5},
          {"rotary_emb_base", 10000},        {"rotary_pct", 0.25},
          {"use_parallel_residual", true},   {"hidden_act", "gelu_fast"},
          {"tie_word_embeddings", false}};
}

json falcon() {
  return {{"model_type", "falcon"},  {"hidden_size", 4544},
          {"num_hidden_layers", 32}, {"num_attention_heads", 71},
          {"vocab_size", 65024},     {"multi_query", true},
          {"parallel_attn", true},   {"alibi", false},
          {"bias", false},           {"new_decoder_architecture", false}};
}

// What was read, with what was not said.
std::string text_of(const ForeignModel& foreign) {
  return model_file_text(foreign.model) + not_said_sentence("it", foreign.not_said);
}

TEST(ForeignConfig, EachEntryMeansWhatItSaysOrIsNamedOrRefused) {
  edits::Sentences said;
  for (const json& config : {mistral(), neox(), falcon()}) {
    edits::expect_sound({"",
                         config,
                         [](const json& edited) { return text_of(model_in_config(edited, "it")); },
                         {"left out /.*", "with a strange key .*", ".* /rotary_pct"},
                         {"left out /.*"},
                         false},
                        said);
  }
}

struct Published {
  const char* config;
  std::int64_t parameters;
};

// As the makers of the models publish both.
constexpr Published published[]{
    {R"({"model_type":"qwen3","head_dim":128,"hidden_size":4096,"intermediate_size":12288,
     "max_position_embeddings":40960,"num_attention_heads":32,"num_hidden_layers":36,
     "num_key_value_heads":8,"vocab_size":151936})",
     8'190'735'360},
    {R"({"model_type":"gemma2","head_dim":256,"hidden_size":3584,"intermediate_size":14336,
     "max_position_embeddings":8192,"num_attention_heads":16,"num_hidden_layers":42,
     "num_key_value_heads":8,"vocab_size":256000})",
     9'241'705'984},
    {R"({"model_type":"olmo2","hidden_size":4096,"intermediate_size":11008,"vocab_size":100352,
     "max_position_embeddings":4096,"num_attention_heads":32,"num_hidden_layers":32})",
     7'298'617'344},
    {R"({"model_type":"olmo","hidden_size":4096,"intermediate_size":11008,"vocab_size":50304,
     "max_position_embeddings":2048,"num_attention_heads":32,"num_hidden_layers":32})",
     6'888'095'744},
    {R"({"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"vocab_size":152064,
     "num_attention_heads":28,"num_hidden_layers":28,"num_key_value_heads":4})",
     7'615'616'512},
    {R"({"model_type":"phi","hidden_size":2560,"intermediate_size":10240,"vocab_size":51200,
     "num_attention_heads":32,"num_hidden_layers":32})",
     2'779'683'840},
    {R"({"model_type":"bloom","hidden_size":4096,"n_head":32,"n_layer":30,"vocab_size":250880})",
     7'069'016'064},
    {R"({"model_type":"opt","ffn_dim":16384,"hidden_size":4096,"max_position_embeddings":2048,
     "num_attention_heads":32,"num_hidden_layers":32,"vocab_size":50272})",
     6'658'473'984},
    {R"({"model_type":"gpt_bigcode","n_embd":6144,"n_head":48,"n_inner":24576,"n_layer":40,
     "n_positions":8192,"vocab_size":49152})",
     15'517'456'384},
    {R"({"model_type":"starcoder2","hidden_size":4608,"intermediate_size":18432,"vocab_size":49152,
     "num_attention_heads":36,"num_hidden_layers":32,"num_key_value_heads":4})",
     7'173'923'840},
    {R"({"model_type":"opt","ffn_dim":4096,"hidden_size":1024,"max_position_embeddings":2048,
     "num_attention_heads":16,"num_hidden_layers":24,"vocab_size":50272,"word_embed_proj_dim":512,
     "do_layer_norm_before":false,"_remove_final_layer_norm":false})",
     331'196'416},
    {R"({"model_type":"falcon","hidden_size":8192,"vocab_size":65024,"num_attention_heads":128,
     "num_hidden_layers":60,"num_kv_heads":8,"new_decoder_architecture":true})",
     41'303'293'952},
    {R"({"model_type":"gemma3_text","head_dim":256,"hidden_size":1152,"intermediate_size":6912,
     "num_attention_heads":4,"num_hidden_layers":26,"num_key_value_heads":1,"vocab_size":262144})",
     999'885'952},
    {R"({"model_type":"phi3","hidden_size":5120,"intermediate_size":17920,"vocab_size":100352,
     "num_attention_heads":40,"num_hidden_layers":40,"num_key_value_heads":10})",
     14'659'507'200},
    {R"({"model_type":"granite","hidden_size":2048,"intermediate_size":8192,"vocab_size":49155,
     "num_attention_heads":32,"num_hidden_layers":40,"num_key_value_heads":8,
     "tie_word_embeddings":true})",
     2'533'531'648}};

TEST(ForeignConfig, ParametersAreThePublishedOnes) {
  const auto parameters = [](const json& config) {
    return parameter_count(model_in_config(config, "it"));
  };
  for (const Published& one : published) {
    EXPECT_EQ(parameters(json::parse(one.config)), one.parameters) << one.config;
  }
  EXPECT_EQ(parameters(mistral()), 7'241'732'096);
  EXPECT_EQ(parameters(neox()), 20'554'567'680);
  EXPECT_EQ(parameters(falcon()), 6'921'720'704);
}

// As transformers' own code takes what a file leaves out, and as it takes null.
TEST(ForeignConfig, WhatIsLeftOutIsWhatTheFamilyTakes) {
  const auto without = [](json config, const char* key) {
    config.erase(key);
    return model_in_config(config, "it").model;
  };
  const auto null = [](json config, const char* key) {
    config[key] = nullptr;
    return model_in_config(config, "it").model;
  };
  const json qwen3 = json::parse(published[0].config), gemma2 = json::parse(published[1].config);

  EXPECT_EQ(without(mistral(), "num_key_value_heads").kv_heads(), 8);
  EXPECT_EQ(null(mistral(), "num_key_value_heads").kv_heads(), 32);
  EXPECT_EQ(without(mistral(), "max_position_embeddings").sequence, 131'072);
  EXPECT_EQ(without(mistral(), "sliding_window").layer_pattern, "attention window_tokens=4096");
  EXPECT_EQ(null(mistral(), "sliding_window").layer_pattern, "");
  EXPECT_EQ(without(qwen3, "head_dim").head_columns(), 128);
  EXPECT_EQ(without(gemma2, "head_dim").head_columns(), 256);
  EXPECT_EQ(null(gemma2, "head_dim").head_columns(), 3584 / 16);
  EXPECT_EQ(null(gemma2, "sliding_window").layer_pattern, "");
  EXPECT_THAT(refusal<std::exception>([&] { without(mistral(), "intermediate_size"); }),
              HasSubstr("does not say intermediate_size"));
}

// Whatever a list of layers says, those of the model that is read have the windows that it says, or
// it is named that they have not.
TEST(ForeignConfig, EachLayerHasTheWindowThatItsTypeSays) {
  std::mt19937 drawn(7);
  int patterns = 0;
  for (int trial = 0; trial < 300; ++trial) {
    json config = json::parse(published[trial % 2].config);
    config["sliding_window"] = 512;
    config["use_sliding_window"] = true;
    const std::size_t layers = 1 + drawn() % 24, period = 1 + drawn() % 6;
    config["num_hidden_layers"] = layers;
    std::vector<std::string> types;
    std::vector<LayerKind> expected;
    for (std::size_t i = 0; i < layers; ++i) {
      const bool repeats = i >= period && trial % 5 != 0;
      const bool slides = repeats ? types[i - period] == "sliding_attention" : drawn() % 2 == 0;
      types.emplace_back(slides ? "sliding_attention" : "full_attention");
      expected.push_back({slides ? 512 : 0});
    }
    config["layer_types"] = types;
    const ForeignModel foreign = model_in_config(config, "it");
    if (not_said_sentence("it", foreign.not_said).find("windows") != std::string::npos) continue;
    const auto seen = layer_kinds(foreign.model, 0, foreign.model.layers);
    for (std::size_t i = 0; i < layers; ++i) {
      EXPECT_EQ(seen[i].window, expected[i].window) << config["layer_types"] << " layer " << i;
    }
    patterns += foreign.model.layer_pattern.empty() ? 0 : 1;
  }
  EXPECT_GT(patterns, 150);
}

// A key that nobody reads is named, whatever it is called and in whatever family, but for those
// that say how a model is trained, kept or sampled.
TEST(ForeignConfig, AKeyThatNobodyReadsIsNamed) {
  for (const Published& one : published) {
    const json good = json::parse(one.config);
    const std::string usual = text_of(model_in_config(good, "it"));
    for (const char* key : {"layer_scale", "attention_sinks", "rope_local_base", "kv_lora_rank",
                            "compression_config", "use_strange", "hidden_sizes"}) {
      json config = good;
      config[key] = 3;
      EXPECT_THAT(text_of(model_in_config(config, "it")), HasSubstr(std::string(key) + " 3"));
    }
    for (const char* key : {"pad_token_id", "attention_dropout", "torch_dtype", "use_cache",
                            "transformers_version", "initializer_range"}) {
      json config = good;
      config[key] = 3;
      config["of_no_value"] = nullptr;
      EXPECT_EQ(text_of(model_in_config(config, "it")), usual) << key;
    }
    for (const char* key : {"num_experts", "moe_num_experts", "n_routed_experts", "ffn_experts"}) {
      json config = good;
      config[key] = 8;
      EXPECT_THAT(refusal<std::exception>([&] { model_in_config(config, "it"); }),
                  HasSubstr("has experts"));
      config[key] = 0;
      EXPECT_NO_THROW(model_in_config(config, "it")) << key;
    }
  }
}

// Windows, norms after, and norms of queries and keys are read as the shipped files say them.
TEST(ForeignConfig, DescribesTheBlocksOfShippedModels) {
  const std::pair<const char*, json> shipped[]{{"qwen3-8b", json::parse(published[0].config)},
                                               {"gemma2-9b", json::parse(published[1].config)},
                                               {"olmo2-7b", json::parse(published[2].config)},
                                               {"mistral-7b", mistral()}};
  for (const auto& [name, config] : shipped) {
    const ForeignModel foreign = model_in_config(config, name);
    EXPECT_EQ(block_shape(foreign.model), block_shape(read_model(name)));
    EXPECT_EQ(parameter_count(foreign.model), parameter_count(read_model(name))) << name;
  }
}

TEST(ForeignConfig, WhatIsNoKnownModelIsRefusedByName) {
  const auto refused = [](const char* key, const json& value) {
    json config = mistral();
    config[key] = value;
    return refusal<std::exception>([&] { model_in_config(config, "it"); });
  };
  EXPECT_THAT(refused("auto_map", {{"AutoModel", "modeling.Own"}}), HasSubstr("has an auto_map"));
  EXPECT_THAT(refused("num_local_experts", 8), HasSubstr("has experts"));
  EXPECT_THAT(refused("quantization_config", {{"bits", 4}}), HasSubstr("quantization_config"));
  EXPECT_THAT(refused("model_type", "mistrall"), HasSubstr("did you mean \"mistral\"?"));
}

// Called by its own name, or where that is config.json by its folder's.
TEST(ForeignConfig, OfAFileIsTheModelOfItsName) {
  const TemporaryFolder own;
  const std::filesystem::path folder = own.file("Mine-1B");
  std::filesystem::create_directory(folder);
  const auto read = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return read_foreign_model((folder / name).string());
  };
  EXPECT_EQ(text_of(read("config.json", mistral().dump())),
            text_of(model_in_config(mistral(), "Mine-1B")));
  EXPECT_EQ(read("seven-b.json", mistral().dump()).model.name, "seven-b");
  EXPECT_EQ(not_said_by((folder / "seven-b.json").string()), "");
  json rotary = neox();
  rotary["rotary_pct"] = 0.5;
  const std::string path = (folder / "part.json").string();
  std::ofstream(path) << rotary.dump();
  EXPECT_THAT(not_said_by(path), HasSubstr("part says what no block here has: "));
  EXPECT_EQ(refusal<std::exception>([&] { read("part.json", "[1]"); }),
            path + " is no JSON object");
  EXPECT_THAT(refusal<std::exception>([&] { read("part.json", "{}"); }), StartsWith(path + " "));
}

constexpr const char* arguments =
    "torchrun --nnodes 2 pretrain_gpt.py --num-layers 24 --hidden-size 2048 \\\n"
    " --num-attention-heads 16 --num-query-groups=4 --group-query-attention --seq-length 4096"
    " --max-position-embeddings 4096 --swiglu --ffn-hidden-size 5632 --normalization RMSNorm"
    " --disable-bias-linear --position-embedding-type rope --rotary-base 500000"
    " --untie-embeddings-and-output-weights --vocab-size 32000 --norm-epsilon 1e-6";

constexpr const char* in_braces = R"(# a comment
{
  "num-layers": 24, "hidden-size": 2048, "num-attention-heads": 16,  # another
  "num_kv_heads": 4, "seq-length": 4096, "max-position-embeddings": 4096,
  "activation": "swiglu", "intermediate-size": 5632, "norm": "rmsnorm", "rms_norm_epsilon": 1.0e-6,
  "use_bias_in_attn_linear": false, "use_bias_in_mlp": false, "pos-emb": "rotary",
  "rotary-emb-base": 500000, "no-weight-tying": true, "padded-vocab-size": 32000,
  "zero_optimization": {"stage": 1, "overlap_comm": True,},
})";

constexpr const char* in_lines = R"(---
num-layers: 24
hidden-size: 2048
num-attention-heads: 16   # a comment
num_kv_heads: 4
seq-length: 4096
max-position-embeddings: 4096
activation: "swiglu"
intermediate-size: 5632
norm: rmsnorm
rms_norm_epsilon: 1.0e-6
use_bias_in_attn_linear: False
use_bias_in_mlp: false
pos-emb: rotary
rotary-emb-base: 500000
no-weight-tying: true
padded-vocab-size: 32000
zero_optimization: {"stage": 1, "overlap_comm": true}
)";

constexpr const char* in_tables = R"(
zero_optimization:
  stage: 1
  overlap_comm: true
)";

// Megatron-LM's arguments and both ways to write a .yml say one model, which its file says again.
TEST(LaunchWords, OneModelInThreeNotationsIsOneModel) {
  const ForeignModel first = read_foreign_model(arguments);

  const TemporaryFolder folder;
  const std::string lines = in_lines, of_zero = "zero_optimization";
  for (const std::string& text :
       {std::string(in_braces), lines, lines.substr(0, lines.find(of_zero)) + in_tables}) {
    write_content(folder.file("launch.yml"), text);
    const LaunchWords words(folder.file("launch.yml"));
    EXPECT_EQ(text_of(model_in_launch(words)), text_of(first)) << text;
    EXPECT_EQ(words.number({"zero-optimization.stage"}, 0), 1);
    EXPECT_TRUE(words.flag("zero-optimization.overlap-comm"));
    EXPECT_TRUE(words.not_asked().empty());
  }
  EXPECT_EQ(text_of(read_from(lines, read_foreign_model, "launch.yaml")), text_of(first));
  EXPECT_TRUE(first.not_said.empty());
  EXPECT_EQ(first.model.kv_heads(), 4);
  EXPECT_EQ(first.model.vocabulary, 32'000);
}

// Megatron-LM's --make-vocab-size-divisible-by, 128 without it, is of each tensor-parallel share.
TEST(LaunchWords, VocabulariesArePaddedOnEachShare) {
  const auto vocabulary = [](const std::string& more) {
    return read_foreign_model(arguments + more).model.vocabulary;
  };
  EXPECT_EQ(vocabulary(" --vocab-size 50257"), 50'304);
  EXPECT_EQ(vocabulary(" --vocab-size 50257 --tensor-model-parallel-size 8"), 51'200);
  EXPECT_EQ(vocabulary(" --vocab-size 50257 --tensor-model-parallel-size 8"
                       " --make-vocab-size-divisible-by 1"),
            50'264);
}

// Of what a model here cannot have, what is taken instead; and what is read otherwise than said.
TEST(LaunchWords, WhatNoModelHereHasIsSaid) {
  for (const auto& [more, what, taken] :
       {std::tuple{" --rotary-percent 0.5", "rotary positions on part of a head's columns", "all"},
        {" --position-embedding-type alibi", "positions by alibi", "rotary"},
        {" --squared-relu", "activation squared-relu", "swiglu"},
        {" --add-qkv-bias", "biases of queries, keys and values", "none"},
        {" --position-embedding-type learned_absolute --max-position-embeddings 8192",
         "max-position-embeddings 8192", "4096"}}) {
    const ForeignModel foreign = read_foreign_model(std::string(arguments) + more);
    ASSERT_EQ(foreign.not_said.size(), 1U) << more;
    EXPECT_EQ(foreign.not_said[0].what, what);
    EXPECT_EQ(foreign.not_said[0].taken, taken);
  }
  for (const auto& [more, why] :
       {std::pair{" --norm-epsilon tiny", "norm-epsilon 'tiny' is no number"},
        {" --swiglu maybe", "swiglu 'maybe' is neither true nor false"}}) {
    EXPECT_THAT(refusal<std::exception>([&] { read_model(std::string(arguments) + more); }),
                HasSubstr(why));
  }
}

TEST(LaunchWords, WhatNobodyReadsIsNamedAndWhatChangesNoTimeIsNot) {
  const LaunchWords words(
      std::string(arguments) +
      " --lr 3e-4 --save here --fp8-format hybrid --log-interval 10"
      " --optimizer adam --optimizer-cpu-offload --data-path x --seed 7"
      " --vocab-file v --merge-file m --split 9,1 --eval-iters 3 --weight-decay 1"
      " --data-parallel-sharding-strategy optim");
  model_in_launch(words);

  EXPECT_THAT(words.not_asked(),
              ::testing::ElementsAre("data-parallel-sharding-strategy", "fp8-format", "nnodes",
                                     "optimizer-cpu-offload"));
  EXPECT_THAT(refusal<std::exception>(
                  [] { read_model("--num-layers 4 --hidden-size 64 --num-attention-heads 4"); }),
              HasSubstr("a model needs seq-length"));
  EXPECT_THAT(
      refusal<std::exception>([&] { read_model(std::string(arguments) + " --num-experts 8"); }),
      HasSubstr("num-experts"));
  EXPECT_THAT(refusal<std::exception>([&] { read_model("--num-layers 4 --hidden-size ten"); }),
              HasSubstr("hidden-size 'ten' is no whole number"));
}

}  // namespace
}  // namespace fourfold::tests
