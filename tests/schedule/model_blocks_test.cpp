// What is said of a block, counted of it and refused, decided again for blocks drawn over all
// fields; long because every field is drawn, said, counted, refused and read back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedule/models/layer_pattern.hpp"
#include "schedule/models/model.hpp"
#include "schedule/models/model_file.hpp"
#include "schedule/models/model_flops.hpp"
#include "schedule/models/model_template.hpp"
#include "schedule/models/parameter_count.hpp"
#include "support/field.hpp"
#include "support/nearest_name.hpp"
#include "support/whole_file.hpp"
#include "tests/drawn_steps.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

// Every field at its default or about it, said or left out.
Model drawn_model(std::int64_t number) {
  const Draw draw(number, 0);
  Model model{"drawn",
              3,
              draw.of<std::int64_t>("hidden", {48, 60, 72}),
              12,
              draw.of<std::int64_t>("sequence", {5, 8}),
              97};
  if (draw.often("rms", 50)) model.norm = NormKind::rms;
  model.norm_epsilon = draw.of("epsilon", {1e-5, 1e-5, 1e-6, 0.5});
  if (draw.often("rotary", 60)) {
    model.position = PositionKind::rotary;
    model.rotary.base = draw.of("base", {10'000.0, 10'000.0, 100.0, 500'000.0});
    model.rotary.scaling = draw.of("scaling", {1.0, 1.0, 0.5, 8.0});
    if (model.rotary.scaling != 1.0) {
      model.rotary.low = draw.of("low", {1.0, 2.0, 4.0});
      model.rotary.high = draw.of("high", {4.0, 3.0, 8.0});
      model.rotary.trained_tokens = draw.of<std::int64_t>("trained", {8192, 100});
    }
  }
  model.key_value_heads = draw.of<std::int64_t>("keys", {0, 12, 6, 3, 5, 1});
  model.head_size = draw.of<std::int64_t>("columns", {0, 0, 3, 4, 5, 6});
  if (draw.often("swiglu", 50)) model.mlp = MlpKind::swiglu;
  model.mlp_width = draw.of<std::int64_t>("width", {0, 4 * model.hidden, 50, 250});
  model.biases = draw.often("biases", 50);
  if (draw.often("untied", 50)) model.embeddings = EmbeddingsKind::untied;
  if (draw.often("parallel", 50)) model.residual = ResidualKind::parallel;
  model.norm_place = draw.of("place", {NormPlace::before, NormPlace::after, NormPlace::both});
  model.query_key_norm = draw.of(
      "query key", {QueryKeyNormKind::none, QueryKeyNormKind::heads, QueryKeyNormKind::all});
  model.layer_pattern = draw.of<std::string>(
      "pattern", {"", "attention window_tokens=4", "attention window_tokens=3, attention"});
  return model;
}

// What 0 stands for.
std::int64_t columns_of_head(const Model& m) {
  return m.head_size != 0 ? m.head_size : m.hidden / m.heads;
}
std::int64_t heads_of_keys(const Model& m) {
  return m.key_value_heads != 0 ? m.key_value_heads : m.heads;
}
std::int64_t width_of(const Model& m) {
  return m.mlp_width != 0 ? m.mlp_width : 4 * m.hidden;
}

std::string expected_contradiction(const Model& m) {
  if (m.heads % heads_of_keys(m) != 0) {
    return fmt::format(
        "12 heads of queries do not divide among {} heads of keys and values; key_value_heads must "
        "be a divisor of heads",
        heads_of_keys(m));
  }
  const bool rotary = m.position == PositionKind::rotary;
  if (rotary && columns_of_head(m) % 2 == 1) {
    return fmt::format(
        "rotary positions turn pairs of columns, and heads of {} columns are odd; give an even "
        "head_size",
        columns_of_head(m));
  }
  const bool scaled = rotary && m.rotary.scaling != 1.0;
  if (scaled && !(m.rotary.low < m.rotary.high)) return "rotary_low must be less than rotary_high";
  if (m.residual == ResidualKind::parallel && m.norm_place != NormPlace::before) {
    return fmt::format(
        "norm_place = \"{}\" needs residual = \"sequential\", as a parallel one adds attention and "
        "the MLP before anything else",
        name(m.norm_place));
  }
  return "";
}

TEST(Blocks, ThatCannotBeAreRefusedInWords) {
  std::map<std::string, int> heard;
  for (std::int64_t number = 0; number < 2000; ++number) {
    const Model model = drawn_model(number);
    const std::string why = expected_contradiction(model);
    ++heard[why.substr(0, 9)];

    EXPECT_EQ(contradiction(model), why) << described(model);
  }
  EXPECT_EQ(heard.size(), 5U);
  for (const auto& [start, times] : heard) EXPECT_GT(times, 20) << start;
}

TEST(Blocks, OfHeadsThatDoNotDivideNeedASizeOfTheirHeads) {
  Model model{"m", 1, 50, 12, 8, 97};
  EXPECT_EQ(contradiction(model), "hidden = 50 does not divide into 12 heads");
  model.head_size = 3;
  EXPECT_EQ(contradiction(model), "");
  model.heads = 0;
  EXPECT_EQ(contradiction(model), "hidden = 50 does not divide into 0 heads");
}

TEST(Blocks, SayHowTheyDifferFromGpts) {
  for (std::int64_t number = 0; number < 2000; ++number) {
    const Model m = drawn_model(number);
    std::vector<std::string> words;
    const bool rotary = m.position == PositionKind::rotary;
    if (m.norm == NormKind::rms) words.emplace_back("RMS norm");
    if (rotary) {
      words.emplace_back(m.rotary.scaling == 1.0 ? "rotary positions" : "scaled rotary positions");
    }
    if (heads_of_keys(m) != 12)
      words.push_back(fmt::format("{} key-value heads", heads_of_keys(m)));
    if (12 * columns_of_head(m) != m.hidden) {
      words.push_back(fmt::format("heads of {}", columns_of_head(m)));
    }
    const bool swiglu = m.mlp == MlpKind::swiglu;
    if (swiglu) words.push_back(fmt::format("SwiGLU of {}", width_of(m)));
    if (!swiglu && width_of(m) != 4 * m.hidden) {
      words.push_back(fmt::format("MLP of {}", width_of(m)));
    }
    if (!m.biases) words.emplace_back("no biases");
    if (m.embeddings == EmbeddingsKind::untied) words.emplace_back("untied embeddings");
    if (m.residual == ResidualKind::parallel) words.emplace_back("parallel residual");
    constexpr const char* places[]{"", "norms after attention and the MLP",
                                   "norms before and after attention and the MLP"};
    constexpr const char* norms[]{"", "norms of each head's queries and keys",
                                  "norms of all queries and of all keys"};
    for (const char* word :
         {places[static_cast<int>(m.norm_place)], norms[static_cast<int>(m.query_key_norm)]}) {
      if (*word != 0) words.emplace_back(word);
    }
    if (!m.layer_pattern.empty()) words.push_back("layers " + m.layer_pattern);
    std::string shape;
    for (const std::string& word : words) shape += (shape.empty() ? "" : ", ") + word;

    EXPECT_EQ(block_shape(m), shape);
    EXPECT_EQ(described(m),
              fmt::format("drawn (3 layers, hidden {}, 12 heads, {} tokens, vocabulary 97{}{})",
                          m.hidden, m.sequence, shape.empty() ? "" : ", ", shape));
  }
}

// A record says what differs from GPT's and nothing else.
TEST(Blocks, AreRecordedByWhatDiffers) {
  for (std::int64_t number = 0; number < 2000; ++number) {
    const Model m = drawn_model(number);
    const bool rotary = m.position == PositionKind::rotary;
    const bool scaled = rotary && m.rotary.scaling != 1.0;
    std::set<std::string> keys{"layers", "hidden", "heads", "sequence_tokens", "vocabulary"};
    const auto said = [&](bool differs, const std::string& key) {
      if (differs) keys.insert(key);
    };
    said(m.norm == NormKind::rms, "norm");
    said(m.norm_epsilon != 1e-5, "norm_epsilon");
    said(rotary, "position");
    said(rotary && m.rotary.base != 10'000.0, "rotary_base");
    for (const char* key :
         {"rotary_scaling", "rotary_low", "rotary_high", "rotary_trained_tokens"}) {
      said(scaled, key);
    }
    said(heads_of_keys(m) != 12, "key_value_heads");
    said(12 * columns_of_head(m) != m.hidden, "head_size");
    said(m.mlp == MlpKind::swiglu, "mlp");
    said(width_of(m) != 4 * m.hidden, "mlp_width");
    said(!m.biases, "biases");
    said(m.embeddings == EmbeddingsKind::untied, "embeddings");
    said(m.residual == ResidualKind::parallel, "residual");
    said(m.norm_place != NormPlace::before, "norm_place");
    said(m.query_key_norm != QueryKeyNormKind::none, "query_key_norm");
    said(!m.layer_pattern.empty(), "layer_pattern");
    std::set<std::string> found;
    for (const auto& [key, value] : model_fields().values(m)) found.insert(key);

    ASSERT_EQ(found, keys) << described(m);
  }
}

// Written to a file and read again, a block is the same in every number.
TEST(Blocks, ComeBackFromTheirFiles) {
  const std::string path = ::testing::TempDir() + "fourfold_drawn_block.toml";
  int read = 0;
  for (std::int64_t number = 0; number < 150; ++number) {
    const Model m = drawn_model(number);
    if (!contradiction(m).empty()) continue;
    ++read;
    write_whole_file(path, model_file_text(m));
    const Model again = read_model(path);

    EXPECT_EQ(again.norm, m.norm);
    EXPECT_EQ(again.norm_epsilon, m.norm_epsilon);
    EXPECT_EQ(again.position, m.position);
    EXPECT_EQ(again.rotary, m.rotary);
    EXPECT_EQ(again.kv_heads(), m.kv_heads());
    EXPECT_EQ(again.head_columns(), m.head_columns());
    EXPECT_EQ(again.mlp, m.mlp);
    EXPECT_EQ(again.width(), m.width());
    EXPECT_EQ(again.biases, m.biases);
    EXPECT_EQ(again.embeddings, m.embeddings);
    EXPECT_EQ(again.residual, m.residual);
    EXPECT_EQ(again.norm_place, m.norm_place);
    EXPECT_EQ(again.query_key_norm, m.query_key_norm);
    EXPECT_EQ(again.layer_pattern, m.layer_pattern);
  }
  EXPECT_GT(read, 40);
  std::filesystem::remove(path);
}

// Matrix by matrix.
TEST(Blocks, HaveTheParametersOfTheirMatrices) {
  int sound = 0;
  for (std::int64_t number = 0; number < 1000; ++number) {
    const Model m = drawn_model(number);
    if (!contradiction(m).empty()) continue;
    ++sound;
    const std::int64_t attention = 12 * columns_of_head(m);
    const std::int64_t qkv = attention + 2 * heads_of_keys(m) * columns_of_head(m);
    const std::int64_t up = width_of(m) * (m.mlp == MlpKind::swiglu ? 2 : 1);
    const std::vector<std::int64_t> weights{m.hidden * qkv, attention * m.hidden, m.hidden * up,
                                            width_of(m) * m.hidden};
    const std::int64_t norm = m.hidden * (m.norm == NormKind::rms ? 1 : 2);
    const std::int64_t biases = m.biases ? qkv + m.hidden + up + m.hidden : 0;
    const std::int64_t products = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
    const std::int64_t tables = (m.embeddings == EmbeddingsKind::tied ? 1 : 2) * 97 * m.hidden;
    const std::int64_t positions = m.position == PositionKind::rotary ? 0 : m.sequence * m.hidden;

    EXPECT_EQ(product_weights(m), weights);
    const std::int64_t norms = m.norm_place == NormPlace::both ? 4 : 2;
    const std::int64_t heads = m.query_key_norm == QueryKeyNormKind::none ? 0
                               : m.query_key_norm == QueryKeyNormKind::heads
                                   ? 2
                                   : 12 + heads_of_keys(m);
    const std::int64_t block = products + norms * norm + heads * columns_of_head(m) + biases;
    EXPECT_EQ(parameter_count(m), static_cast<double>(3 * block + tables + positions + norm));
    const bool as_gpt = products == 12 * m.hidden * m.hidden && attention == m.hidden;
    EXPECT_EQ(model_flops_convention(m, Recompute::full),
              fmt::format("Narayanan et al. SC21 eq. 3{}, recompute counted",
                          as_gpt ? "" : " with the block's key-value heads and MLP"));
    const auto tokens = static_cast<double>(6 * m.sequence);
    const double of_products = 2.0 * static_cast<double>(3 * products + 97 * m.hidden);
    // Of three layers two, one, or none have all tokens before.
    const double seen = m.layer_pattern.empty() ? 3.0 * static_cast<double>(m.sequence)
                        : m.layer_pattern.ends_with("=4")
                            ? 3.0 * 4
                            : 2 * 3.0 + static_cast<double>(m.sequence);
    const double of_attention = 4.0 * seen * static_cast<double>(attention);
    const double flops = 3 * tokens * (of_products + of_attention);
    EXPECT_NEAR(model_flops(m, 6, Recompute::none).value, flops, 1e-9 * flops) << described(m);
    const double full = flops + tokens * (2.0 * static_cast<double>(3 * products) + of_attention);
    EXPECT_NEAR(model_flops(m, 6, Recompute::full).value, full, 1e-9 * full) << described(m);
  }
  EXPECT_GT(sound, 250);
}

// Narrow heads beside a wide MLP, which have as many weights as a GPT's block.
TEST(Blocks, OfAsManyWeightsAsAGptsAreNoGptsForAllThat) {
  Model model{"m", 1, 48, 12, 8, 97};
  model.head_size = 2;
  model.mlp_width = 240;

  EXPECT_EQ(product_weights(model), (std::vector<std::int64_t>{3456, 1152, 11520, 11520}));
  EXPECT_EQ(model_flops_convention(model, Recompute::none),
            "Narayanan et al. SC21 eq. 3 with the block's key-value heads and MLP, no recompute");
}

TEST(ModelNames, HaveNoFolders) {
  for (const std::string name : {"./gpt2-124m", "../models/gpt2-124m", "models/gpt2-124m", ""}) {
    EXPECT_TRUE(refusal<std::runtime_error>([&] {
                  read_model(name);
                }).starts_with("unknown model \"" + name + "\""))
        << name;
  }
}

// Every key with a value of every other kind, in an otherwise sound file.
TEST(ModelFiles, TakeValuesOfTheirKindAlone) {
  const std::string path = ::testing::TempDir() + "fourfold_model_kinds.toml";
  const std::vector<std::pair<std::string, std::string>> sound{{"layers", "2"},
                                                               {"hidden", "16"},
                                                               {"heads", "4"},
                                                               {"sequence_tokens", "8"},
                                                               {"vocabulary", "32"},
                                                               {"norm", "\"rms\""},
                                                               {"norm_epsilon", "0.1"},
                                                               {"position", "\"rotary\""},
                                                               {"rotary_base", "100"},
                                                               {"rotary_scaling", "2"},
                                                               {"rotary_low", "1"},
                                                               {"rotary_high", "2"},
                                                               {"rotary_trained_tokens", "5"},
                                                               {"key_value_heads", "2"},
                                                               {"head_size", "4"},
                                                               {"mlp", "\"swiglu\""},
                                                               {"mlp_width", "20"},
                                                               {"biases", "false"},
                                                               {"embeddings", "\"untied\""},
                                                               {"residual", "\"parallel\""},
                                                               {"norm_place", "\"before\""},
                                                               {"query_key_norm", "\"all\""},
                                                               {"layer_pattern", "\"attention\""}};
  std::map<std::string, std::string> words{
      {"norm", "\"layer\" or \"rms\""},
      {"position", "\"learned\" or \"rotary\""},
      {"mlp", "\"gelu\" or \"swiglu\""},
      {"embeddings", "\"tied\" or \"untied\""},
      {"residual", "\"sequential\" or \"parallel\""},
      {"norm_place", "one of \"before\", \"after\", \"both\""},
      {"query_key_norm", "one of \"none\", \"heads\", \"all\""},
      {"layer_pattern", "a text in quotes"},
      {"biases", "true or false"},
      {"norm_epsilon", "a number"},
      {"rotary_base", "a number"},
      {"rotary_scaling", "a number"},
      {"rotary_low", "a number"},
      {"rotary_high", "a number"}};
  const auto read = [&](const std::string& key, const std::string& value) {
    std::string text;
    for (const auto& [own, usual] : sound)
      text += own + " = " + (own == key ? value : usual) + '\n';
    write_whole_file(path, text);
    return refusal<std::runtime_error>([&] { read_model(path); });
  };
  EXPECT_EQ(read("", ""), "accepted");
  for (const auto& [key, usual] : sound) {
    const auto known = words.find(key);
    const std::string be = known == words.end() ? "a whole number, 1 or more" : known->second;
    for (const char* value : {"true", "\"xyzw\"", "[]", "1.5", "3", "1979-05-27"}) {
      const bool number = std::string(value) == "1.5" || std::string(value) == "3";
      if (be == "a number" && number) continue;
      if (be == "true or false" && std::string(value) == "true") continue;
      if (be == "a text in quotes" && std::string(value) == "\"xyzw\"") continue;
      if (known == words.end() && std::string(value) == "3") continue;
      const std::string said = read(key, value);
      EXPECT_TRUE(said.starts_with(path + ", line ")) << said;
      EXPECT_TRUE(said.ends_with(": \"" + key + "\" must be " + be)) << said;
    }
  }
  std::filesystem::remove(path);
}

TEST(LayerPattern, RepeatsItsKindsAndRefusesOthersByName) {
  Model model{"m", 5, 48, 12, 8, 97};
  model.layer_pattern = "attention window_tokens=4 ,attention";
  const std::vector<LayerKind> kinds = layer_kinds(model, 1, 4);
  EXPECT_EQ(kinds, (std::vector<LayerKind>{{0}, {4}, {0}, {4}}));
  const ShortStack stack = short_stack(model);
  EXPECT_EQ(layer_kinds(stack.model, 0, stack.model.layers), (std::vector<LayerKind>{{4}, {0}}));
  EXPECT_EQ(stack.times, (std::vector<std::int64_t>{3, 2}));
  model.layer_pattern = "attention, attention window_tokens=4, attention";
  EXPECT_EQ(short_stack(model).times, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(short_stack(model).times_of(-1), 1);
  EXPECT_EQ(kinds_in(pattern_of({{4}, {0}})), (std::vector<LayerKind>{{4}, {0}}));
  const auto fault = [](const std::string& pattern) { return pattern_fault(pattern); };
  EXPECT_EQ(fault("attention,"), "layer_pattern has a layer without a name");
  EXPECT_EQ(fault("mamba"),
            "layer_pattern has a layer \"mamba\"; the only kind known is \"attention\"");
  EXPECT_EQ(fault("attention window_token=4"),
            "layer_pattern has a field \"window_token\", which attention has not" +
                did_you_mean("window_token", {"window_tokens"}));
  for (const char* number : {"=0", "=-1", "=4x", "=16777217", "=", ""}) {
    EXPECT_THAT(fault(std::string("attention window_tokens") + number),
                ::testing::EndsWith("which is no whole number from 1 to 16777216"));
  }
}

TEST(Excess, NamesTheFirstFieldThatIsTooLarge) {
  const Model most{"m", most_layers, most_hidden, most_hidden, most_sequence, most_vocabulary};
  EXPECT_EQ(excess(most), "");
  const std::string counted = ", so that 64 bits count every byte of a step";
  const auto with = [&](std::int64_t Model::*member) {
    Model model = most;
    ++(model.*member);
    return excess(model);
  };

  EXPECT_EQ(with(&Model::layers),
            "layers = 10001, but it must be at most 10000, as every operation of every layer is "
            "written down, 0.1 MB a layer");
  EXPECT_EQ(with(&Model::hidden), "hidden = 1048577, but it must be at most 1048576" + counted);
  EXPECT_EQ(with(&Model::heads),
            "heads = 1048577, but it must be at most 1048576, as each has a column at least");
  EXPECT_EQ(with(&Model::sequence),
            "sequence_tokens = 16777217, but it must be at most 16777216" + counted);
  EXPECT_EQ(with(&Model::vocabulary),
            "vocabulary = 16777217, but it must be at most 16777216" + counted);
  Model wide = most;
  wide.mlp_width = most_hidden + 1;
  EXPECT_EQ(excess(wide), "mlp_width = 1048577, but it must be at most 1048576" + counted);
  wide.mlp_width = most_hidden;
  wide.head_size = most_hidden + 1;
  EXPECT_EQ(excess(wide), "head_size = 1048577, but it must be at most 1048576" + counted);
}

TEST(Blocks, WordsAreThoseOfTheirFiles) {
  EXPECT_STREQ(name(NormKind::layer), "layer");
  EXPECT_STREQ(name(NormKind::rms), "rms");
  EXPECT_STREQ(name(PositionKind::learned), "learned");
  EXPECT_STREQ(name(PositionKind::rotary), "rotary");
  EXPECT_STREQ(name(MlpKind::gelu), "gelu");
  EXPECT_STREQ(name(MlpKind::swiglu), "swiglu");
  EXPECT_STREQ(name(EmbeddingsKind::tied), "tied");
  EXPECT_STREQ(name(EmbeddingsKind::untied), "untied");
  EXPECT_STREQ(name(ResidualKind::sequential), "sequential");
  EXPECT_STREQ(name(ResidualKind::parallel), "parallel");
  EXPECT_STREQ(name(NormPlace::after), "after");
  EXPECT_STREQ(name(QueryKeyNormKind::heads), "heads");
}

}  // namespace
}  // namespace fourfold::tests
