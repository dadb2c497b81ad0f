// TOML as the words that the command line takes; see strategy_file.hpp.
#include "scaling/study/strategy_file.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "platforms/device_memory.hpp"
#include "scaling/records/question.hpp"
#include "scaling/words/output.hpp"
#include "scaling/words/toml_file.hpp"
#include "sim/question/point_json.hpp"
#include "support/field.hpp"
#include "support/json_object.hpp"
#include "support/json_text.hpp"

namespace fourfold::inline scaling::inline study {
namespace {

using nlohmann::json;

std::string word_of(const std::string& key, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_number_integer()) return std::to_string(value.get<std::int64_t>());
  throw std::runtime_error("'" + key +
                           "' must be a word, a whole number, true or false, or a list of them");
}

// A list, or one entry without brackets.
std::string words_of(const std::string& key, const json& value, char separator = ',') {
  if (!value.is_array()) return word_of(key, value);
  if (value.empty()) throw std::runtime_error("'" + key + "' has an empty list");
  std::string text;
  for (const json& entry : value) {
    if (!text.empty()) text += separator;
    text += word_of(key, entry);
  }
  return text;
}

std::string said(JsonObject& object, const std::string& key) {
  return object.has(key) ? words_of(key, object.get(key)) : "";
}

std::string grid_in(JsonObject& object) {
  if (!object.has("grid")) return "";
  const json& value = object.get("grid");
  if (value.is_string()) return value.get<std::string>();
  JsonObject axes(value, "'grid'");
  axes.allow_only({"x", "y", "z", "data", "pipe"});
  std::string text;
  bool single = true;
  for (const auto& [axis, extents] : value.items()) {
    const std::string words = words_of(axis, extents);
    single = single && words.find_first_not_of("0123456789") == std::string::npos;
    text += (text.empty() ? "" : ",") + axis + "=" + words;
  }
  // A table leaves data to the others, however short its lists are.
  return single && !value.contains("data") ? text + ",data=all" : text;
}

// By the keys that campaigns have: those of the table, and "overlap" for the flag that several
// fields share.
std::map<std::string, std::string> options_in(const json& table) {
  std::map<std::string, std::string> flags;
  std::vector<std::string> known;
  for (const FieldFacts& field : step_fields().facts()) {
    if (field.key == "micro_batches") continue;
    const std::string key = field.key.substr(0, field.key.find('.'));
    if (flags.emplace(key, field.flag).second) known.push_back(key);
  }
  JsonObject(table, "'options'").allow_only(known);
  std::map<std::string, std::string> options;
  for (const auto& [key, value] : table.items()) {
    const std::string& flag = flags.at(key);
    options[flag] = words_of(key, value, separator_of(flag));
  }
  return options;
}

void read_space(const json& file, StrategyQuestion& question) {
  JsonObject object(file, "the space");
  object.allow_only({"title", "platform", "scales", "software", "model", "sequence_tokens",
                     "vocabulary", "devices", "nodes", "batch_tokens", "grid", "micro_batch_size",
                     "micro_batches", "options", "memory_risk"});
  question.title = object.text("title");
  Point& pattern = question.pattern;
  pattern.platform = object.text("platform");
  if (object.has("scales")) pattern.scales = read_scales(object.get("scales"));
  if (object.has("software")) pattern.software = object.text("software");
  FieldValues instead;  // of the model's own
  for (const char* key : {"sequence_tokens", "vocabulary"}) {
    if (object.has(key)) instead[key] = object.positive(key);
  }
  say_what_is_not_said(object.text("model"));
  pattern.model = model_with(object.text("model"), instead);
  question.model_flags = model_flags(object.text("model"), instead);
  SpaceWords words;
  words.devices = said(object, "devices");
  words.nodes = said(object, "nodes");
  words.grid = grid_in(object);
  words.stages = "all";
  words.micro_batch_size = said(object, "micro_batch_size");
  words.micro_batches = said(object, "micro_batches");
  pattern.global_batch = 0;
  if (object.has("batch_tokens")) {
    pattern.global_batch =
        sequences_in(positive_up_to(object, "batch_tokens", most_batch_tokens), pattern.model);
  }
  if (object.has("options")) words.options = options_in(object.get("options"));
  const Platform platform = read_platform(pattern.platform, pattern.scales, pattern.software);
  question.space = space_in(words, platform, pattern.options);
  question.space.memory_risk = risk_in(object).value_or(usual_memory_risk);
  if (makes_its_batch(question.space) && file.contains("batch_tokens")) {
    throw std::runtime_error(
        "'batch_tokens' cannot take effect: sizes and numbers of micro-batches make the batch");
  }
}

}  // namespace

std::optional<double> risk_in(JsonObject& object) {
  if (!object.has("memory_risk")) return {};
  const double risk = object.number("memory_risk");
  if (risk >= 0.01 && risk <= 0.99) return risk;
  throw std::runtime_error("'memory_risk' must be from 0.01 to 0.99");
}

StrategyQuestion read_strategy_file(const std::string& path) {
  StrategyQuestion question;
  read_toml_file(path, [&](const json& file, const TomlLines&) { read_space(file, question); });
  return question;
}

}  // namespace fourfold::inline scaling::inline study
