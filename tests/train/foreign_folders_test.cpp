// Folders in Hugging Face's layout: what is written is read again bit by bit, in files of the size
// that is asked for, and files that contradict themselves or each other are refused by name.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "engine/train/checkpoint/safetensors.hpp"
#include "support/random.hpp"
#include "tests/train/foreign_models.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;

Model gpt2() {
  Model model{"gpt2", 2, 8, 4, 6, 11};
  model.mlp_width = 24;
  return model;
}

Model llama() {
  Model model{"llama", 1, 8, 4, 6, 11};
  model.norm = NormKind::rms;
  model.position = PositionKind::rotary;
  model.rotary = {.base = 500.0, .scaling = 8.0, .low = 1.5, .high = 4.5, .trained_tokens = 32};
  model.key_value_heads = 2;
  model.head_size = 4;
  model.mlp = MlpKind::swiglu;
  model.mlp_width = 12;
  model.biases = false;
  model.embeddings = EmbeddingsKind::untied;
  return model;
}

// Whole numbers up to 250, which every type holds exactly, of both signs.
Matrices made_up(const Model& model) {
  return matrices_of(model, [place = std::uint64_t{0}]() mutable {
    return static_cast<float>(scattered(place++) % 501) - 250.0F;
  });
}

class ForeignFolders : public OneRank {
 protected:
  // A new folder with that model.
  std::string written(const Model& model, std::int64_t most_bytes = std::int64_t{1} << 40) {
    const std::string path = folder_.file("written" + std::to_string(++count_));
    ForeignCheckpoint what;
    what.model = model;
    what.prefix = family_of(model).prefix;
    write_foreign(path, what, made_up(model), most_bytes);
    return path;
  }
  // What is said of a folder whose only file is changed.
  template <typename Change>
  std::string said(const Model& model, const Change& change) {
    const std::string path = written(model);
    TensorFile file(path + "/model.safetensors");
    change(file);
    file.write(path + "/model.safetensors");
    return said_of(path);
  }
  static std::string said_of(const std::string& path) {
    std::string sentence = refusal([&] { read_foreign(path); });
    for (std::size_t at = sentence.find(path); at != std::string::npos; at = sentence.find(path)) {
      sentence.replace(at, path.size(), "F");
    }
    return sentence;
  }

  SharedFolder folder_;
  int count_ = 0;
};

TEST_F(ForeignFolders, AreNamedByTheirLastPartHoweverTheyAreWritten) {
  const std::string path = written(gpt2());
  const std::string name = path.substr(path.find_last_of('/') + 1);

  for (const std::string& written : {path, path + "/", path + "/.", path + "/../" + name}) {
    EXPECT_EQ(read_foreign(written).first.model.name, name) << written;
  }
}

TEST_F(ForeignFolders, AreCutIntoFilesOfTheSizeThatIsAskedFor) {
  const Model model = gpt2();
  std::vector<std::int64_t> sizes;
  for (const ForeignTensor& tensor : foreign_tensors(model, "transformer.")) {
    sizes.push_back(4 * tensor.rows() * tensor.cols());
  }
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  for (const std::int64_t most : {std::int64_t{1}, sizes[0], sizes[0] + sizes[1],
                                  sizes[0] + sizes[1] - 1, total / 3, total - 1, total}) {
    std::vector<std::int64_t> expected;
    for (const std::int64_t size : sizes) {
      if (expected.empty() || expected.back() + size > most) expected.push_back(0);
      expected.back() += size;
    }

    const std::string path = written(model, most);

    std::vector<std::int64_t> found;
    for (std::size_t i = 1; i <= expected.size(); ++i) {
      char name[64];
      std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i, expected.size());
      const TensorFile file(path + "/" + (expected.size() == 1 ? "model.safetensors" : name));
      EXPECT_EQ(file.head_bytes % 8, 0);
      EXPECT_EQ(file.head.at("__metadata__"), json({{"format", "pt"}}));
      found.push_back(std::ssize(file.data));
    }
    EXPECT_EQ(found, expected) << most;
    const std::string index = path + "/model.safetensors.index.json";
    EXPECT_EQ(std::filesystem::exists(index), expected.size() > 1) << most;
    if (expected.size() > 1) {
      const json said = json::parse(content_of(index));
      EXPECT_EQ(said.at("metadata"), json({{"total_size", total}}));
      EXPECT_EQ(said.at("weight_map").size(), sizes.size());
    }
    const Matrices read = read_foreign(path).second, was = made_up(model);
    ASSERT_EQ(read.size(), was.size());
    for (const auto& [name, matrix] : was) EXPECT_EQ(read.at(name).values, matrix.values) << name;
  }
}

// Masks and frequencies that older versions of transformers saved, of any type.
TEST_F(ForeignFolders, MayHoldWhatIsNoWeight) {
  for (const char* buffer : {"transformer.h.0.attn.bias", "transformer.h.1.attn.masked_bias",
                             "model.layers.0.self_attn.rotary_emb.inv_freq"}) {
    EXPECT_EQ(said(gpt2(), [&](TensorFile& file) { file.add(buffer, "U8", "any"); }), "") << buffer;
  }
  const std::string path = written(gpt2(), 1'000);
  const std::string index = path + "/model.safetensors.index.json";
  json said = json::parse(content_of(index));
  said["weight_map"]["transformer.h.0.attn.bias"] = said["weight_map"]["transformer.wte.weight"];
  std::ofstream(index) << said.dump();
  EXPECT_EQ(said_of(path), "");
  EXPECT_EQ(this->said(gpt2(), [](TensorFile& file) { file.add("h.0.attn.scale", "F32", "1234"); }),
            "F/model.safetensors gives a tensor an impossible shape or place");
}

TEST_F(ForeignFolders, WhoseHeadIsWrongAreRefusedByName) {
  const std::string bias = "transformer.ln_f.bias", scale = "transformer.ln_f.weight";
  const auto said_to = [&](const std::string& key, const json& value) {
    return said(gpt2(), [&](TensorFile& file) { file.head[bias][key] = value; });
  };
  const std::string impossible = "F/model.safetensors gives a tensor an impossible shape or place";

  struct Row {
    const char* key;
    json value;
    std::string sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"shape", json::array({8}), ""},
           {"shape", json::array({7}), impossible},
           {"shape", json::array({0}), impossible},
           {"shape", {-1, -8}, impossible},
           {"shape", {std::int64_t{1} << 40, std::int64_t{1} << 40}, impossible},
           {"shape",
            {2, 4},
            "F/model.safetensors holds " + bias + " as 2 x 4, and config.json asks for 8"},
           {"dtype", "I8", "F/model.safetensors holds numbers of type I8; known: F32, BF16, F16"},
           {"dtype", "F16", impossible},
           {"dtype", 3, "F/model.safetensors has a damaged safetensors head"},
           {"data_offsets", {-32, 0}, impossible}}) {
    EXPECT_EQ(said_to(row.key, row.value), row.sentence) << row.value;
  }
  EXPECT_EQ(said(gpt2(), [&](TensorFile& file) { file.head.erase(bias); }),
            "F/model.safetensors is damaged: 32 bytes behind " + scale + " are of no tensor");
  EXPECT_EQ(
      said(gpt2(), [&](TensorFile& file) { file.head.erase(scale); }),
      "F/model.safetensors is damaged: 32 bytes between transformer.h.1.mlp.c_proj.bias and " +
          bias + " are of no tensor");
  EXPECT_EQ(said(gpt2(),
                 [&](TensorFile& file) {
                   file.head[bias]["data_offsets"] = file.head[scale]["data_offsets"];
                 }),
            "F/model.safetensors is damaged: " + bias + " and " + scale + " share bytes");
  EXPECT_EQ(said(gpt2(),
                 [&](TensorFile& file) {
                   const std::int64_t begin = file.head[bias]["data_offsets"][0];
                   file.head[bias]["data_offsets"] = {begin - 4, begin + 28};
                 }),
            "F/model.safetensors is damaged: " + scale + " and " + bias + " share bytes");
  for (const auto& [bits, what] : {std::pair{"\x7f\xc0", "nan"}, {"\x7f\x80", "inf"}}) {
    EXPECT_EQ(said(gpt2(),
                   [&, high = std::string(bits)](TensorFile& file) {
                     const std::size_t begin = file.head[bias]["data_offsets"][0];
                     file.data.replace(begin, 4, {'\0', '\0', high[1], high[0]});
                   }),
              "F/model.safetensors is damaged: " + bias + " has a number that is " + what);
  }
  EXPECT_EQ(said(gpt2(), [](TensorFile& file) { file.data.pop_back(); }).substr(0, 35),
            "F/model.safetensors is truncated: t");
}

TEST_F(ForeignFolders, WhoseIndexIsWrongAreRefusedByName) {
  const auto said_to = [&](const auto& change) {
    const std::string path = written(llama(), 400);
    const std::string index = path + "/model.safetensors.index.json";
    json all = json::parse(content_of(index));
    change(all, all["weight_map"]);
    std::ofstream(index) << all.dump();
    return said_of(path);
  };
  const std::string index = "F/model.safetensors.index.json ", norm = "model.norm.weight";

  EXPECT_EQ(said_to([](json&, json&) {}), "");
  EXPECT_EQ(said_to([](json& all, json&) { all.erase("weight_map"); }),
            index + "is damaged: it has no weight_map");
  EXPECT_EQ(said_to([](json& all, json&) { all = json::array(); }),
            index + "is damaged: it is no JSON object");
  for (const json& file : {json(""), json(7), json("../other.safetensors"), json("/tmp/o")}) {
    EXPECT_EQ(said_to([&](json&, json& map) { map[norm] = file; }),
              index + "is damaged: " + norm + " is in no file of the folder");
  }
  EXPECT_TRUE(said_to([&](json&, json& map) {
                map["more"] = map[norm];
              }).starts_with(index + "speaks of more, which is not in model-"));
  EXPECT_TRUE(said_to([&](json&, json& map) {
                map.erase(norm);
              }).starts_with(index + "does not speak of " + norm + ", which is in F/model-"));
}

TEST_F(ForeignFolders, HaveNoNumberThatItsTypeCannotHold) {
  const auto said_to = [&](float number, NumberType type) {
    ForeignCheckpoint what;
    what.model = gpt2();
    for (const ForeignTensor& tensor : foreign_tensors(what.model, "")) {
      what.types[tensor.name] = type;
    }
    Matrices matrices = made_up(what.model);
    matrices["final_norm"].values[3] = number;
    return refusal([&] {
      write_foreign(folder_.file("range" + std::to_string(++count_)), what, matrices, 1 << 20);
    });
  };
  const std::string of = "ln_f.weight has a number of ";

  const std::string too_large = ", which is too large for ", advice = "; give another --type";
  EXPECT_EQ(said_to(65'504.0F, NumberType::fp16), "");
  EXPECT_EQ(said_to(-65'519.0F, NumberType::fp16), "");
  EXPECT_EQ(said_to(65'520.0F, NumberType::fp16), of + "65520" + too_large + "F16" + advice);
  EXPECT_EQ(said_to(-1e6F, NumberType::fp16), of + "-1e+06" + too_large + "F16" + advice);
  EXPECT_EQ(said_to(-3.4e38F, NumberType::bf16), of + "-3.4e+38" + too_large + "BF16" + advice);
  EXPECT_EQ(said_to(-3.4e38F, NumberType::fp32), "");
}

// With other words of its fields, foreign_layout_test.cpp says.
TEST_F(ForeignFolders, OfOtherBlocksAreRefused) {
  std::vector<Model> others(3, gpt2());
  others[0].biases = false;
  others[1].key_value_heads = 2;
  others[2].head_size = 4;
  for (const Model& model : others) {
    EXPECT_EQ(refusal([&] { family_of(model); }).substr(0, 32), "is neither a GPT-2 nor a Llama, ");
  }
}

// A head of ours: what each length, entry and place of its tensors hears.
TEST_F(ForeignFolders, OfOursHaveMatricesSideBySide) {
  const std::string good =
      safetensors_head({{"a", 2, 3, 0}, {"b", 1, 4, 6}}, {{"format", "fourfold"}});
  const auto said_to = [&](const std::function<void(json & head)>& change, std::int64_t bytes) {
    json head = json::parse(good.substr(8));
    change(head);
    return refusal([&] { parse_safetensors_head(std::string(8, '\0') + head.dump(), bytes); });
  };
  const auto as_is = [](json&) {};

  EXPECT_EQ(good.size() % 4096, 0U);
  EXPECT_EQ(said_to(as_is, 40), "");
  EXPECT_EQ(said_to(as_is, 44), "has 44 bytes of data, its head speaks of 40");
  struct Place {
    json shape;
    int begin, end, bytes;
    const char* sentence;
  };
  for (const Place& place :
       std::vector<Place>{{{1, 4}, 28, 44, 44, "has a gap or an overlap before b"},
                          {{1, 4}, 20, 36, 36, "has a gap or an overlap before b"},
                          {{1, 4}, 25, 41, 40, "gives b an impossible shape or place"},
                          {{1, 4}, 24, 44, 40, "gives b an impossible shape or place"},
                          {{0, 4}, 24, 24, 40, "gives b an impossible shape or place"},
                          {{-1, -4}, 24, 40, 40, "gives b an impossible shape or place"},
                          {json::array({4}), 24, 40, 40, "holds b, which is no matrix of fp32"}}) {
    const auto put = [&](json& h) {
      h["b"]["shape"] = place.shape;
      h["b"]["data_offsets"] = {place.begin, place.end};
    };
    EXPECT_EQ(said_to(put, place.bytes), place.sentence) << place.begin << ' ' << place.end;
  }
  EXPECT_EQ(said_to([](json& h) { h["b"]["dtype"] = "F16"; }, 40),
            "holds b, which is no matrix of fp32");
  EXPECT_EQ(said_to([](json& h) { h["b"].erase("shape"); }, 40), "has a damaged safetensors head");
  const auto length = [](std::uint64_t bytes, std::int64_t of_file) {
    std::string first(8, '\0');
    std::memcpy(first.data(), &bytes, sizeof bytes);
    return refusal([&] { EXPECT_GT(safetensors_head_bytes(first, of_file), 0); });
  };
  EXPECT_EQ(length(2, 10), "");
  EXPECT_EQ(length(92, 100), "");
  for (const auto& [bytes, of_file] : std::vector<std::pair<std::uint64_t, std::int64_t>>{
           {0, 100}, {1, 100}, {93, 100}, {2, 9}, {~std::uint64_t{0}, 100}, {2, 0}}) {
    EXPECT_EQ(length(bytes, of_file), "does not begin as a safetensors file does") << bytes;
  }
}

// Of two tensors of one name readers would take different ones; text that is no text breaks others.
TEST_F(ForeignFolders, HaveAHeadThatSaysEachNameOnceAndWhoseMetadataAreTexts) {
  const auto why = [](const std::string& head) {
    return refusal([&] { safetensors_entries(head); });
  };
  EXPECT_EQ(safetensors_entries(R"({"a": {"b": 1}, "c": {"b": 1}})").size(), 2u);
  EXPECT_EQ(safetensors_entries(R"({"__metadata__": {"format": "pt"}})").size(), 1u);
  for (const char* twice :
       {R"({"a": {}, "a": {}})", R"({"b": {"a": 1, "a": 2}})",
        R"({"__metadata__": {"a": "1", "a": "1"}})", R"({"a": 1, "\u0061": 2})"}) {
    EXPECT_NE(why(twice).find("speaks of a twice"), std::string::npos) << twice;
  }
  for (const char* odd : {"1", "null", "[]", "\"text\"", R"(["a"])", R"({"a": 1})", R"({"a": {}})",
                          R"({"a": null})", R"({"a": ["b"]})"}) {
    EXPECT_NE(why(std::string(R"({"__metadata__": )") + odd + "}").find("no map of text to text"),
              std::string::npos)
        << odd;
  }
}

}  // namespace
}  // namespace fourfold::tests
