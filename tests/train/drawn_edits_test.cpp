// Every reader of what the engine is handed, against a thousand edits of a good file each
// (tests/drawn_edits.hpp): each edit ends in success or in one sentence of ours.
#include "tests/drawn_edits.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/train/checkpoint/byte_tokenizer.hpp"
#include "engine/train/checkpoint/carried_files.hpp"
#include "engine/train/checkpoint/checkpoint_checksum.hpp"
#include "engine/train/checkpoint/checkpoint_record.hpp"
#include "engine/train/checkpoint/choices_json.hpp"
#include "engine/train/checkpoint/end_words.hpp"
#include "engine/train/checkpoint/foreign_layout.hpp"
#include "engine/train/checkpoint/hugging_face.hpp"
#include "engine/train/checkpoint/safetensors.hpp"
#include "engine/train/data/documents.hpp"
#include "engine/train/data/token_file.hpp"
#include "schedule/models/model_file.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"
#include "tests/train/foreign_models.hpp"

namespace fourfold::tests {
namespace {

using edits::expect_sentences;
using edits::Tree;

std::string json(const Tree& tree) {
  return json_text(tree);
}

class drawn_edits : public OneRank {
 protected:
  void write(const std::string& name, const std::string& content) {
    write_bytes(folder_.file(name), content);
  }
  SharedFolder folder_;
};

TEST_F(drawn_edits, of_checkpoint_records) {
  CheckpointRecord record;
  record.state.model = read_model("gpt-bytes");
  record.state.trainer = Tree{{"typed", {{"--seed", {"1"}}}}, {"kernels", Tree::array()}};
  record.serial = 1;
  record.data_file = "step-00000001.safetensors";
  record.data_file_bytes = 100;
  record.checksums = {{"a", 1}, {"b", 2}};
  // Edits below the checksum that vouches for them.
  const auto vouched = [](const Tree& tree) {
    Tree edited = tree;
    if (!edited.is_object()) return json(edited);
    edited.erase("checksum");
    edited["checksum"] = fmt::format("{:016x}", checksum(json(edited)));
    return json(edited);
  };
  const Tree good = Tree::parse(text_of(record));
  const auto read = [](const std::string& text) { parse_checkpoint_record(text); };

  expect_sentences({"a record that is vouched for", good, vouched, read});
  expect_sentences({"a record", good, json, read});
}

TEST_F(drawn_edits, of_heads_and_configs) {
  const std::string head =
      safetensors_head({{"a", 2, 3, 0}, {"b", 4, 1, 6}}, {{"format", "x"}}).substr(8);
  expect_sentences({"a head", Tree::parse(head), json,
                    [](const std::string& text) { parse_safetensors_head(as_head(text), 40); }});
  const auto config = [](const std::string& text) {
    const auto value = json_in(text);
    if (!value || !value->is_object()) throw std::runtime_error("is no JSON object");
    model_of_config(*value, "edited");
  };
  for (const char* name : {"gpt2-124m", "llama3.1-8b"}) {
    expect_sentences({name, config_of(read_model(name)), json, config});
  }
}

TEST_F(drawn_edits, of_folders_of_others) {
  ForeignCheckpoint what;
  what.model = {"small", 1, 8, 2, 4, 16};
  what.prefix = family_of(what.model).prefix;
  const std::string path = folder_.file("written");
  write_foreign(path, what, matrices_of(what.model, [] { return 1.0F; }), std::int64_t{1} << 40);
  const TensorFile data(path + "/model.safetensors");
  Tree map = Tree::object();
  for (const auto& [name, entry] : data.head.items()) {
    if (name != "__metadata__") map[name] = "model.safetensors";
  }
  const auto expect_edits = [&](const std::string& name, const Tree& good, bool is_head) {
    expect_sentences({name, good, json, [&](const std::string& text) {
                        write("written/" + name, is_head ? as_head(text) + data.data : text);
                        read_foreign(path);
                      }});
    write("written/" + name, is_head ? as_head(json(good)) + data.data : json(good));
  };
  expect_edits("config.json", Tree::parse(content_of(path + "/config.json")), false);
  expect_edits("model.safetensors", data.head, true);
  expect_edits("model.safetensors.index.json", Tree{{"weight_map", map}}, false);
}

// A tokenizer is nobody's but the model's: it is carried along as it is, whatever it holds.
TEST_F(drawn_edits, of_end_words_and_tokenizers) {
  const std::string end_words =
      R"({"_from_model_config":true,"bos_token_id":0,"eos_token_id":[1,2],"temperature":0.6})";
  expect_sentences({foreign_generation, Tree::parse(end_words), json,
                    [](const std::string& text) { end_words_said(foreign_generation, text); }});
  if (world_rank() == 0) std::filesystem::create_directory(folder_.file("carried"));
  for (const auto& [name, content] : byte_tokenizer({"small", 1, 8, 2, 4, 16})) {
    expect_sentences({name, Tree::parse(content), json, [&](const std::string& text) {
                        write("carried/" + name, text);
                        EXPECT_EQ(kept_files(folder_.path()).at(name), text);
                      }});
  }
}

TEST_F(drawn_edits, of_data) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = 20'240'520;
  header[1] = 1;
  header[2] = 100;
  const auto shard = [](const Tree& tree) {
    std::string text;
    for (const Tree& number : tree) {
      const std::int64_t value = number.is_number_integer() ? number.get<std::int64_t>() : 7;
      const auto word = static_cast<std::int32_t>(value);
      text.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    return text;
  };
  Tree numbers = header;
  for (int i = 0; i < 50; ++i) numbers.push_back(i);
  const auto read = [&](const std::string& name) {
    return [this, name](const std::string& text) {
      write(name, text);
      const WordStream words({folder_.file(name)}, {0.0, 1.0});
      std::vector<std::int32_t> all;
      words.read(0, words.words(), 50'257, all);
    };
  };
  expect_sentences({"a shard", numbers, shard, read("shard.bin")});
  const auto lines = [](const Tree& tree) {
    std::string text;
    for (const Tree& line : tree) text += json(line) + '\n';
    return text;
  };
  const Tree documents = Tree::parse(R"([{"prompt":"a","completion":"b"},{"completion":"c"}])");
  expect_sentences({"documents", documents, lines, read("data.jsonl")});
}

TEST_F(drawn_edits, of_choices) {
  const Tree kernels =
      Tree::parse(R"([{"form":"NN","m":1,"n":2,"k":3,"a":"fp32","b":"fp32","out":"fp32","count":4,)"
                  R"("library":"oneDNN","kernel_form":"NN","arithmetic":"fp32"}])");
  expect_sentences({"kernels", kernels, json, [](const std::string& text) {
                      read_kernel_choices(parse_json(text, "the choices"));
                    }});
  const Tree transports = Tree::parse(
      R"([{"channel":"x","collective":"all-reduce","owed":"sum","precision":"fp32","members":2,)"
      R"("elements":8,"transport":"ring"}])");
  expect_sentences({"transports", transports, json, [](const std::string& text) {
                      read_transport_choices(parse_json(text, "the choices"));
                    }});
}

}  // namespace
}  // namespace fourfold::tests
