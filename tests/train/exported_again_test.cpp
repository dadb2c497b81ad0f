// What is imported comes out again in the same files, byte by byte: drawn over both families, tied
// and untied, all types of numbers, one file and many, whoever wrote their heads in whatever order;
// with tokenizer and all. And a record that somebody has forged takes nobody elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "engine/train/checkpoint/byte_tokenizer.hpp"
#include "engine/train/checkpoint/carried_files.hpp"
#include "engine/train/checkpoint/end_words.hpp"
#include "engine/train/checkpoint/imported.hpp"
#include "support/owned_folder.hpp"
#include "tests/train/file_limit.hpp"
#include "tests/train/foreign_models.hpp"

namespace fourfold::tests {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Files = std::map<std::string, std::string>;

// A whole folder by name.
Files files_in(const std::string& folder) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files[entry.path().filename().string()] = content_of(entry.path().string());
  }
  return files;
}

Model drawn_model(std::mt19937_64& random) {
  Model model{"drawn", 1 + static_cast<std::int64_t>(random() % 2), 8, 4, 6, 11};
  if (random() % 2 == 0) model.mlp_width = 12;
  if (random() % 2 == 0) model.embeddings = EmbeddingsKind::untied;
  if (random() % 2 == 0) return model;  // a GPT-2
  model.norm = NormKind::rms;
  model.norm_epsilon = 1e-6;
  model.position = PositionKind::rotary;
  model.mlp = MlpKind::swiglu;
  model.mlp_width = 12;
  model.biases = random() % 2 == 0;
  if (random() % 2 == 0) model.key_value_heads = 2;
  if (random() % 2 == 0) model.head_size = 4;
  if (random() % 2 == 0) {
    model.rotary = {.base = 500.0, .scaling = 8.0, .low = 1.5, .high = 4.5, .trained_tokens = 32};
  }
  return model;
}

// The same tensors in another order, with other words around them.
void lay_out_anew(const std::string& path, std::mt19937_64& random) {
  const TensorFile file(path);
  std::vector<std::string> names;
  for (const auto& [name, entry] : file.head.items()) {
    if (name != "__metadata__") names.push_back(name);
  }
  std::ranges::shuffle(names, random);
  ordered_json laid;
  std::string data;
  for (const std::string& name : names) {
    const json& entry = file.head[name];
    const std::size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    laid[name] = {{"shape", entry["shape"]},
                  {"data_offsets", {data.size(), data.size() + end - begin}},
                  {"dtype", entry["dtype"]}};
    data += file.data.substr(begin, end - begin);
  }
  if (random() % 2 == 0) laid["__metadata__"] = {{"format", "pt"}, {"by", "caf\u00e9"}};
  const std::string text = laid.dump(static_cast<int>(random() % 3) - 1);
  write_bytes(path, as_head(text + std::string(random() % 9, ' ')) + data);
}

void say_anew(const std::string& path, std::mt19937_64& random) {
  ordered_json said = ordered_json::parse(content_of(path));
  said["of_nobody"] = {1e-05, nullptr, "caf\u00e9", ordered_json::object()};
  write_bytes(path,
              said.dump(static_cast<int>(random() % 5) - 1) + (random() % 2 == 0 ? "\r\n" : ""));
}

class ExportedAgain : public OneRank {
 protected:
  std::string new_path() { return folder_.file("folder" + std::to_string(++count_)); }

  // A folder as others write it.
  std::string drawn_folder(std::mt19937_64& random) {
    ForeignCheckpoint what;
    what.model = drawn_model(random);
    what.prefix = random() % 3 == 0 ? "" : family_of(what.model).prefix;
    what.has_head = what.model.tied() && random() % 2 == 0;
    const std::vector<NumberType> all{NumberType::fp32, NumberType::bf16, NumberType::fp16};
    const bool mixed = random() % 2 == 0;
    const NumberType one = all[random() % 3];
    for (const ForeignTensor& tensor : foreign_tensors(what.model, what.prefix)) {
      what.types[tensor.name] = mixed ? all[random() % 3] : one;
    }
    if (what.has_head) what.types[foreign_head] = all[random() % 3];
    const std::string path = new_path();
    // Of half precision, so that every type holds them.
    drawn_ = matrices_of(what.model, [&] {
      return static_cast<float>(static_cast<std::int64_t>(random() % 255) - 127);
    });
    write_foreign(path, what, drawn_,
                  random() % 2 == 0 ? 1 << 30 : static_cast<std::int64_t>(1 + random() % 2000));
    for (const auto& [name, content] : files_in(path)) {
      name.ends_with(".safetensors") ? lay_out_anew(path + "/" + name, random)
                                     : say_anew(path + "/" + name, random);
    }
    for (const char* name : {"tokenizer.json", "tokenizer.model", "merges.txt"}) {
      if (random() % 2 == 0) continue;
      std::string bytes;
      for (std::uint64_t i = random() % 300; i > 0; --i) bytes += static_cast<char>(random());
      write_bytes(path + "/" + name, bytes);
    }
    return path;
  }

  // Through a record's text, as a checkpoint keeps it.
  static TrainingState kept(const ForeignCheckpoint& foreign) {
    TrainingState state;
    state.model = foreign.model;
    state.trainer = json::parse(json{{"imported", imported_json(foreign, "somewhere")}}.dump());
    return state;
  }

  SharedFolder folder_;
  Matrices drawn_;  // of the last folder
  int count_ = 0;
};

TEST_F(ExportedAgain, AreTheSameFilesByteByByte) {
  std::mt19937_64 random(32);
  for (int n = 0; n < 120; ++n) {
    const std::string given = drawn_folder(random), back = new_path();
    const auto [foreign, matrices] = read_foreign(given);
    ASSERT_EQ(matrices.size(), drawn_.size());
    for (const auto& [name, matrix] : drawn_) EXPECT_EQ(matrices.at(name).values, matrix.values);
    Remembered remembered = remembered_of(kept(foreign));
    keep_files(new_path(), foreign.files).is_whole();
    remembered.foreign.files = kept_files(folder_.file("folder" + std::to_string(count_)));

    write_foreign(back, remembered.foreign, matrices, 5);

    const Files is = files_in(back), was = files_in(given);
    std::string differ;
    for (const auto& [name, content] : was) {
      if (!is.contains(name) || is.at(name) != content) differ += name + " ";
    }
    EXPECT_EQ(differ, "") << "folder " << n;
    EXPECT_EQ(is.size(), was.size());
  }
}

// The head of a file in a record: each edit is refused, none reaches a file.
TEST_F(ExportedAgain, FromAForgedRecordTheyAreRefused) {
  std::mt19937_64 random(5);
  std::string given = drawn_folder(random);
  while (files_in(given).size() < 4) given = drawn_folder(random);
  const TrainingState good = kept(read_foreign(given).first);
  int tried = 0;
  const auto said = [&](const auto& change) {
    ++tried;
    TrainingState state = good;
    change(state.trainer["imported"]);
    return refusal([&] { remembered_of(state); });
  };
  ASSERT_EQ(said([](json&) {}), "");
  const std::string file = good.trainer["imported"]["heads"].begin().key();
  const std::string head = good.trainer["imported"]["heads"].begin().value();

  for (const char* name : {"../model.safetensors", "/tmp/model.safetensors", ".safetensors", "a/b",
                           "-rf.safetensors", "config.json", "a\n.safetensors", ""}) {
    EXPECT_THAT(said([&](json& imported) { imported["heads"][name] = head; }),
                testing::HasSubstr("no plain name"))
        << name;
  }
  for (const char* name : {"../.bashrc", "/etc/passwd", "config.json", ""}) {
    EXPECT_THAT(said([&](json& imported) { imported["files"] = {name}; }),
                testing::HasSubstr("of no known name"));
  }
  std::vector<json> heads{json(),           json(3),    json(""),
                          json("{}"),       json("[]"), json(std::string(200'000, '[')),
                          json(head + head)};
  for (std::size_t i = 0; i < head.size(); ++i) {
    std::string edited = head;
    if (std::isdigit(static_cast<unsigned char>(edited[i])) == 0) continue;
    edited[i] = edited[i] == '9' ? '1' : '9';
    heads.emplace_back(edited);
  }
  for (const json& other : heads) {
    EXPECT_NE(said([&](json& imported) { imported["heads"][file] = other; }), "") << other.dump();
  }
  for (const char* key : {"config", "prefix", "has_head", "types"}) {
    EXPECT_NE(said([&](json& imported) { imported.erase(key); }), "") << key;
    EXPECT_NE(said([&](json& imported) { imported[key] = 3; }), "") << key;
  }
  EXPECT_THAT(said([&](json& imported) {
                json config = json::parse(imported["config"].get<std::string>());
                config["vocab_size"] = 12;
                imported["config"] = config.dump();
              }),
              testing::HasSubstr("config.json of another model"));
  EXPECT_GT(tried, 80);
}

TEST_F(ExportedAgain, LinksAndWhatIsNoFileAreNotCarriedAlong) {
  std::mt19937_64 random(6);
  const std::string secret = folder_.write("secret", "of somebody");
  const auto said = [&](const auto& plant) {
    const std::string given = drawn_folder(random);
    std::filesystem::remove(given + "/vocab.json");
    plant(given + "/vocab.json");
    return refusal([&] { read_foreign(given); });
  };

  EXPECT_THAT(said([&](const std::string& at) { std::filesystem::create_symlink(secret, at); }),
              testing::HasSubstr("vocab.json is a link, which is not followed"));
  EXPECT_THAT(said([&](const std::string& at) { std::filesystem::create_symlink("nowhere", at); }),
              testing::HasSubstr("vocab.json is a link, which is not followed"));
  EXPECT_NE(said([&](const std::string& at) { std::filesystem::create_directory(at); }), "");
  const std::string checkpoints = new_path();
  std::filesystem::create_directories(checkpoints);
  std::filesystem::create_directories(folder_.file("elsewhere"));
  std::filesystem::create_symlink(folder_.file("elsewhere"), checkpoints + "/carried");
  EXPECT_NE(refusal([&] { keep_files(checkpoints, {{"vocab.json", "{}"}}).is_whole(); }), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.file("elsewhere")));
}

// With another type of numbers config.json says it, by each name that it goes by.
TEST_F(ExportedAgain, ConfigSaysTheTypeThatIsAskedFor) {
  for (const auto& [type, word] :
       std::map<NumberType, std::string>{{NumberType::fp32, "float32"},
                                         {NumberType::bf16, "bfloat16"},
                                         {NumberType::fp16, "float16"}}) {
    for (const char* before : {"{}", R"({"torch_dtype": "bfloat16"})", R"({"dtype": "float16"})",
                               R"({"z": 1e-05, "torch_dtype": null, "dtype": "auto", "a": []})"}) {
      const json old = json::parse(before), now = json::parse(config_with_type(before, type));
      const bool is_new = old.contains("dtype");
      EXPECT_EQ(now.value(is_new ? "dtype" : "torch_dtype", ""), word) << before;
      EXPECT_EQ(now.contains("dtype"), is_new);
      EXPECT_EQ(now.value("torch_dtype", word), word);
      for (const char* key : {"z", "a"}) EXPECT_EQ(now.value(key, json()), old.value(key, json()));
    }
  }
}

// A model that was made here says its end word, and nobody takes the family's for it.
TEST_F(ExportedAgain, WhatWasMadeHereSaysItsEndWord) {
  std::mt19937_64 random(9);
  for (const char* words : {"text", "nanogpt"}) {
    TrainingState state;
    state.model = drawn_model(random);
    state.model.vocabulary = 256;
    state.trainer = {{"words", words}};
    const bool bytes = state.trainer["words"] == "text";
    const ForeignCheckpoint foreign = remembered_of(state).foreign;
    const json config = json::parse(foreign.config);

    EXPECT_EQ(config.at("eos_token_id"), bytes ? json(0) : json());
    EXPECT_EQ(config.at("bos_token_id"), json());
    EXPECT_EQ(config.at("vocab_size"), state.model.vocabulary);
    EXPECT_EQ(config.at(foreign_model_name), state.model.name);
    EXPECT_EQ(foreign.files.size(), bytes ? 3U : 1U);
    EXPECT_EQ(json::parse(foreign.files.at("generation_config.json")).at("eos_token_id"),
              bytes ? json(0) : json());
    EXPECT_EQ(end_words_of(state), bytes ? std::vector{0} : std::vector<std::int32_t>{});
    if (!bytes) continue;
    const json vocabulary = json::parse(foreign.files.at("tokenizer.json"))["model"]["vocab"];
    EXPECT_EQ(std::ssize(vocabulary), state.model.vocabulary);
    EXPECT_EQ(vocabulary.at("A"), 'A');
    EXPECT_EQ(vocabulary.at("\u0120"), ' ');
    EXPECT_EQ(vocabulary.at("\u010a"), '\n');
  }
}

// Of bytes that cannot be seen, GPT-2's letters from U+0100 on in their order.
TEST(ByteTokenizer, HasALetterForEachByte) {
  const CarriedFiles files = byte_tokenizer({"all", 1, 8, 2, 4, 256});
  const json vocabulary = json::parse(files.at("tokenizer.json"))["model"]["vocab"];

  EXPECT_EQ(vocabulary.size(), 256U);
  for (const auto& [letter, byte] :
       {std::pair{"\u0100", 0}, {"~", '~'}, {"\u0121", 0x7F}, {"\u0142", 0xA0}, {"\u0143", 0xAD}}) {
    EXPECT_EQ(vocabulary.value(letter, -1), byte);
  }
}

TEST_F(ExportedAgain, EndWordsOfARecordAreWordsOfTheModel) {
  TrainingState state;
  state.model.vocabulary = 50;
  const auto of = [&](const json& words) {
    state.trainer = {{"imported", {{"end_words", words}}}, {"words", "text"}};
    return end_words_of(state);
  };

  EXPECT_EQ(of(json::array({3, 49})), (std::vector{3, 49}));
  EXPECT_EQ(of(json::array()), std::vector<std::int32_t>{});
  for (const json& wrong : {json::array({50}), json::array({-1}), json::array({"3"}), json(3),
                            json::array({1e300}), json{{"a", 3}}, json("3")}) {
    EXPECT_NE(refusal([&] { of(wrong); }), "") << wrong;
  }
}

using testing::HasSubstr;

// The embedding has 3,200 bytes, and the first product of an MLP 4,096; each is a file.
TEST(failed_export, leaves_the_folder_as_it_was) {
  const SharedFolder folder;
  if (world_rank() != 0) return;  // an export is one rank's work
  ForeignCheckpoint foreign;
  foreign.model = {"small", 1, 16, 4, 12, 50};
  const Matrices matrices = matrices_of(foreign.model, [] { return 0.0F; });
  const std::string path = folder.file("empty");
  std::filesystem::create_directories(path);
  const auto export_to = [&](const std::string& folder) {
    return refusal([&] { write_foreign(folder, foreign, matrices, 1); });
  };
  {
    const FileLimit limit(4'000);

    EXPECT_THAT(export_to(path), HasSubstr("cannot write " + path + "/model-"));
    EXPECT_THAT(export_to(path + "/new"), HasSubstr("cannot write " + path + "/new/model-"));
  }

  EXPECT_TRUE(std::filesystem::is_empty(path));
  EXPECT_EQ(export_to(path), "");
  EXPECT_TRUE(std::filesystem::exists(path + "/config.json"));
}

// What comes with a model is written first: it goes with the folders that were made for it, unless
// the checkpoint is there in the end.
TEST(failed_import, leaves_the_folder_as_it_was) {
  const SharedFolder folder;
  if (world_rank() != 0) return;
  const std::string above = folder.file("above"), path = above + "/new";
  const CarriedFiles carried{{"merges.txt", "few"}, {"vocab.json", std::string(5'000, ' ')}};
  {
    const FileLimit limit(4'000);

    EXPECT_THAT(refusal([&] { keep_files(path, carried).is_whole(); }),
                HasSubstr("cannot write " + path + "/carried/vocab.json"));
    EXPECT_FALSE(std::filesystem::exists(above));
  }
  for (const CarriedFiles& files : {CarriedFiles(), carried}) {
    {
      const FilledFolder given_up = keep_files(path, files);
      EXPECT_TRUE(std::filesystem::exists(path));
    }
    EXPECT_FALSE(std::filesystem::exists(above));
  }
  std::filesystem::create_directories(path);
  {
    const FileLimit limit(3);

    EXPECT_THAT(refusal([&] { const OwnedFolder owned(path); }), HasSubstr("cannot write " + path));
  }
  EXPECT_TRUE(std::filesystem::is_empty(path));
  keep_files(path, carried).is_whole();
  EXPECT_EQ(kept_files(path), carried);
}

}  // namespace
}  // namespace fourfold::tests
