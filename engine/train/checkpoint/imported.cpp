// Between a checkpoint's record and the files of others; see imported.hpp.
#include "engine/train/checkpoint/imported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "engine/train/checkpoint/byte_tokenizer.hpp"
#include "engine/train/checkpoint/carried_files.hpp"
#include "engine/train/checkpoint/end_words.hpp"
#include "engine/train/checkpoint/foreign_writer.hpp"
#include "engine/train/data/token_file.hpp"
#include "support/field.hpp"
#include "support/json_object.hpp"

namespace fourfold::inline engine::inline train::inline checkpoint {

namespace {

std::string text_of(const nlohmann::ordered_json& config) {
  return config.dump(2) + "\n";
}

nlohmann::ordered_json ordered(const std::string& config) {
  parse_json(config, "the kept config.json");  // which refuses what nests without end
  return nlohmann::ordered_json::parse(config);
}

// Of a file of tensors: nothing but letters, digits, '-', '_' and '.', and no hidden name.
bool is_plain(const std::string& file) {
  const auto plain = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '_' || letter == '.';
  };
  return file.size() < 200 && file.ends_with(".safetensors") && std::isalnum(file.front()) != 0 &&
         std::ranges::all_of(file, plain);
}

void expect(bool sound, const char* what) {
  if (!sound) throw std::runtime_error(fmt::format("is damaged: it says {}", what));
}

// The config.json that came is still that of the model; a shorter sequence may be trained.
void expect_config_of(const Model& model, const std::string& config) {
  Model described = model_of_config(parse_json(config, "its config.json"), model.name);
  described.sequence = model.sequence;
  expect(model_fields().values(described) == model_fields().values(model),
         "that it was imported with the config.json of another model");
}

ForeignCheckpoint foreign_in(const nlohmann::json& said, const Model& model) {
  ForeignCheckpoint foreign;
  foreign.model = model;
  // Before its text was kept as it is, config.json was kept as JSON.
  const nlohmann::json& config = said.at("config");
  foreign.config = config.is_string() ? config.get<std::string>() : config.dump(2) + "\n";
  foreign.prefix = said.at("prefix");
  foreign.has_head = said.at("has_head");
  for (const auto& [tensor, type] : said.at("types").items()) {
    foreign.types[tensor] = number_type_named(type);
  }
  foreign.index = said.value("index", "");
  const nlohmann::json heads = said.value("heads", nlohmann::json::object());
  for (const auto& [file, head] : heads.items()) {
    expect(is_plain(file), "that it was imported from a file that has no plain name");
    foreign.heads[file] = head;
  }
  expect(foreign.prefix.empty() || foreign.prefix == family_of(model).prefix,
         "that its tensors had a prefix of another model");
  expect(foreign.heads.empty() || comes_out_as_it_came(foreign),
         "that its files had heads that are not those of its tensors");
  return foreign;
}

ForeignCheckpoint made_here(const TrainingState& state) {
  ForeignCheckpoint foreign;
  foreign.model = state.model;
  foreign.prefix = family_of(state.model).prefix;
  nlohmann::json config = config_of(state.model);
  // What is not said would be the family's own, such as 50256.
  config["bos_token_id"] = config["eos_token_id"] = nullptr;
  config[foreign_model_name] = state.model.name;
  foreign.config = config.dump(2) + "\n";
  foreign.files[foreign_generation] = generation_with_end_word(std::nullopt);
  if (state.trainer.value("words", nlohmann::json()) != name(TokenFormat::text)) return foreign;
  foreign.config = config_with_end_word(foreign.config, end_byte);
  foreign.files.merge(byte_tokenizer(state.model));
  foreign.files[foreign_generation] = generation_with_end_word(end_byte);
  return foreign;
}

}  // namespace

nlohmann::json imported_json(const ForeignCheckpoint& foreign, const std::string& from) {
  nlohmann::json types = nlohmann::json::object(), heads = nlohmann::json::object();
  for (const auto& [tensor, type] : foreign.types) types[tensor] = name(type);
  for (const auto& [file, head] : foreign.heads) heads[file] = head;
  const bool plain =
      std::ranges::all_of(foreign.heads, [](const auto& file) { return is_plain(file.first); });
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, content] : foreign.files) names.push_back(name);
  nlohmann::json json{{"from", from},
                      {"config", foreign.config},
                      {"prefix", foreign.prefix},
                      {"has_head", foreign.has_head},
                      {"types", types},
                      {"files", names}};
  if (!plain) return json;
  json["heads"] = heads;
  if (!foreign.index.empty()) json["index"] = foreign.index;
  return json;
}

Remembered remembered_of(const TrainingState& state) {
  const auto said = state.trainer.find("imported");
  if (said == state.trainer.end()) return {made_here(state), {}, false};
  Remembered remembered;
  remembered.imported = true;
  try {
    remembered.foreign = foreign_in(*said, state.model);
    remembered.files = said->value("files", std::vector<std::string>());
  } catch (const nlohmann::json::exception&) {
    expect(false, "in no known way what it was imported from");
  }
  expect(std::ranges::all_of(remembered.files, is_carried),
         "that it was imported with a file of no known name");
  expect_config_of(state.model, remembered.foreign.config);
  return remembered;
}

std::string config_with_type(const std::string& config, NumberType type) {
  nlohmann::ordered_json json = ordered(config);
  const char* const word = type == NumberType::fp32   ? "float32"
                           : type == NumberType::bf16 ? "bfloat16"
                                                      : "float16";
  // Newer versions of transformers say "dtype".
  const bool is_new = json.contains("dtype");
  if (is_new) json["dtype"] = word;
  if (!is_new || json.contains("torch_dtype")) json["torch_dtype"] = word;
  return text_of(json);
}

std::string config_with_end_word(const std::string& config, std::int64_t word) {
  nlohmann::ordered_json json = ordered(config);
  json["eos_token_id"] = word;
  return text_of(json);
}

}  // namespace fourfold::inline engine::inline train::inline checkpoint
