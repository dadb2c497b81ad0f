// What is said of a block, refused and read back, decided again for blocks drawn over all fields.
// What is counted of it is in flops_test.cpp.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
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
#include "tests/temporary_folder.hpp"

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

// How a block differs from GPT's: the keys of a record that say so, and the words of people.
struct Difference {
  bool differs = false;
  std::vector<std::string> keys;
  std::string words = {};
};

std::vector<Difference> differences(const Model& m) {
  const bool rotary = m.position == PositionKind::rotary, swiglu = m.mlp == MlpKind::swiglu;
  const bool scaled = rotary && m.rotary.scaling != 1.0;
  const auto columns = columns_of_head(m), keys = heads_of_keys(m), width = width_of(m);
  return {{m.norm == NormKind::rms, {"norm"}, "RMS norm"},
          {m.norm_epsilon != 1e-5, {"norm_epsilon"}},
          {rotary, {"position"}, scaled ? "scaled rotary positions" : "rotary positions"},
          {rotary && m.rotary.base != 10'000.0, {"rotary_base"}},
          {scaled, {"rotary_scaling", "rotary_low", "rotary_high", "rotary_trained_tokens"}},
          {keys != 12, {"key_value_heads"}, fmt::format("{} key-value heads", keys)},
          {12 * columns != m.hidden, {"head_size"}, fmt::format("heads of {}", columns)},
          {swiglu, {"mlp"}, fmt::format("SwiGLU of {}", width)},
          {width != 4 * m.hidden, {"mlp_width"}, swiglu ? "" : fmt::format("MLP of {}", width)},
          {!m.biases, {"biases"}, "no biases"},
          {m.embeddings == EmbeddingsKind::untied, {"embeddings"}, "untied embeddings"},
          {m.residual == ResidualKind::parallel, {"residual"}, "parallel residual"},
          {m.norm_place == NormPlace::after, {"norm_place"}, "norms after attention and the MLP"},
          {m.norm_place == NormPlace::both,
           {"norm_place"},
           "norms before and after attention and the MLP"},
          {m.query_key_norm == QueryKeyNormKind::heads,
           {"query_key_norm"},
           "norms of each head's queries and keys"},
          {m.query_key_norm == QueryKeyNormKind::all,
           {"query_key_norm"},
           "norms of all queries and of all keys"},
          {!m.layer_pattern.empty(), {"layer_pattern"}, "layers " + m.layer_pattern}};
}

TEST(Blocks, SayAndRecordHowTheyDifferFromGptsAndNothingElse) {
  for (std::int64_t number = 0; number < 2000; ++number) {
    const Model m = drawn_model(number);
    std::set<std::string> keys{"layers", "hidden", "heads", "sequence_tokens", "vocabulary"};
    std::string shape;
    for (const Difference& one : differences(m)) {
      if (!one.differs) continue;
      keys.insert(one.keys.begin(), one.keys.end());
      if (!one.words.empty()) shape += (shape.empty() ? "" : ", ") + one.words;
    }
    std::set<std::string> found;
    for (const auto& [key, value] : model_fields().values(m)) found.insert(key);

    ASSERT_EQ(found, keys) << described(m);
    EXPECT_EQ(block_shape(m), shape);
    EXPECT_EQ(described(m),
              fmt::format("drawn (3 layers, hidden {}, 12 heads, {} tokens, vocabulary 97{}{})",
                          m.hidden, m.sequence, shape.empty() ? "" : ", ", shape));
    Model again;
    model_record_fields().set(again, model_record_fields().values(m));
    EXPECT_EQ(described(again), described(m));
    EXPECT_EQ(model_record_fields().values(again), model_record_fields().values(m));
  }
}

// Written to a file and read again, a block is the same in every number.
TEST(Blocks, ComeBackFromTheirFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.file("drawn_block.toml");
  int read = 0;
  for (std::int64_t number = 0; number < 150; ++number) {
    const Model m = drawn_model(number);
    if (!contradiction(m).empty()) continue;
    ++read;
    write_whole_file(path, model_file_text(m));

    EXPECT_EQ(model_fields().values(read_model(path)), model_fields().values(m)) << described(m);
  }
  EXPECT_GT(read, 40);
}

// Narrow heads beside a wide MLP, which have as many weights as a GPT's block.
TEST(Blocks, OfAsManyWeightsAsAGptsAreNoGptsForAllThat) {
  Model model{"m", 1, 48, 12, 8, 97};
  model.head_size = 2;
  model.mlp_width = 240;

  EXPECT_EQ(product_weights(model), (std::vector<std::int64_t>{3456, 1152, 11520, 11520}));
  EXPECT_EQ(model_flops_convention({"gpt", 1, 48, 12, 8, 97}, Recompute::full),
            "Narayanan et al. SC21 eq. 3, recompute counted");
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
  const TemporaryFolder folder;
  const std::string path = folder.file("model_kinds.toml");
  const char *number = "a number", *whole = "a whole number, 1 or more";
  struct Key {
    std::string name, usual, must_be;
  };
  const std::vector<Key> sound{
      {"layers", "2", whole},
      {"hidden", "16", whole},
      {"heads", "4", whole},
      {"sequence_tokens", "8", whole},
      {"vocabulary", "32", whole},
      {"norm", "\"rms\"", "\"layer\" or \"rms\""},
      {"norm_epsilon", "0.1", number},
      {"position", "\"rotary\"", "\"learned\" or \"rotary\""},
      {"rotary_base", "100", number},
      {"rotary_scaling", "2", number},
      {"rotary_low", "1", number},
      {"rotary_high", "2", number},
      {"rotary_trained_tokens", "5", whole},
      {"key_value_heads", "2", whole},
      {"head_size", "4", whole},
      {"mlp", "\"swiglu\"", "\"gelu\" or \"swiglu\""},
      {"mlp_width", "20", whole},
      {"biases", "false", "true or false"},
      {"embeddings", "\"untied\"", "\"tied\" or \"untied\""},
      {"residual", "\"parallel\"", "\"sequential\" or \"parallel\""},
      {"norm_place", "\"before\"", "one of \"before\", \"after\", \"both\""},
      {"query_key_norm", "\"all\"", "one of \"none\", \"heads\", \"all\""},
      {"layer_pattern", "\"attention\"", "a text in quotes"}};
  const auto read = [&](const std::string& key, const std::string& value) {
    std::string text;
    for (const Key& own : sound) {
      text += own.name + " = " + (own.name == key ? value : own.usual) + '\n';
    }
    write_whole_file(path, text);
    return refusal<std::runtime_error>([&] { read_model(path); });
  };
  EXPECT_EQ(read("", ""), "accepted");
  for (const auto& [key, usual, be] : sound) {
    for (const std::string value : {"true", "\"xyzw\"", "[]", "1.5", "3", "1979-05-27"}) {
      if (be == number && (value == "1.5" || value == "3")) continue;
      if (be == whole && value == "3") continue;
      if (be == "true or false" && value == "true") continue;
      if (be == "a text in quotes" && value == "\"xyzw\"") continue;
      const std::string said = read(key, value);
      EXPECT_TRUE(said.starts_with(path + ", line ")) << said;
      EXPECT_TRUE(said.ends_with(": \"" + key + "\" must be " + be)) << said;
    }
  }
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
  Model most{"m", most_layers, most_hidden, most_hidden, most_sequence, most_vocabulary};
  most.mlp_width = most.head_size = most_hidden;
  EXPECT_EQ(excess(most), "");
  const std::string counted = "so that 64 bits count every byte of a step";
  for (const auto& [member, key, limit, why] :
       std::vector<std::tuple<std::int64_t Model::*, const char*, std::int64_t, std::string>>{
           {&Model::layers, "layers", 10'000,
            "as every operation of every layer is written down, 0.1 MB a layer"},
           {&Model::hidden, "hidden", 1'048'576, counted},
           {&Model::heads, "heads", 1'048'576, "as each has a column at least"},
           {&Model::sequence, "sequence_tokens", 16'777'216, counted},
           {&Model::vocabulary, "vocabulary", 16'777'216, counted},
           {&Model::mlp_width, "mlp_width", 1'048'576, counted},
           {&Model::head_size, "head_size", 1'048'576, counted}}) {
    Model model = most;
    ++(model.*member);
    EXPECT_EQ(excess(model),
              fmt::format("{} = {}, but it must be at most {}, {}", key, limit + 1, limit, why));
  }
}

}  // namespace
}  // namespace fourfold::tests
