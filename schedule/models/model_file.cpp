// Reads a model from TOML, refusing what it does not know; see model_file.hpp.
#include "schedule/models/model_file.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "support/field.hpp"
#include "support/nearest_name.hpp"
#include "support/plain_name.hpp"
#include "support/toml_text.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

namespace fs = std::filesystem;

fs::path folder() {
  return fs::path(FOURFOLD_SOURCE_DIR) / "schedule" / "models";
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::runtime_error("model file " + path + ": " + why);
}

std::string path_of(const std::string& name_or_path) {
  if (name_or_path.ends_with(".toml")) return name_or_path;
  const fs::path path = folder() / (name_or_path + ".toml");
  if (name_or_path.find('/') == std::string::npos && fs::exists(path)) return path.string();
  const std::string nearest = did_you_mean(name_or_path, known_models());
  throw std::runtime_error("unknown model \"" + name_or_path + "\"" + nearest +
                           (nearest.empty() ? ";" : "") +
                           " `fourfold models` lists all; a file of your own goes by its path, "
                           "ending in .toml, and `fourfold models template` prints one to start "
                           "from");
}

std::string must_be_whole(const FieldFacts& field) {
  return "\"" + field.key + "\" must be a whole number, at least 1";
}

// A real number may be written as a whole one.
FieldValue value_of(const std::string& path, const toml::node_view<toml::node>& node,
                    const FieldFacts& field) {
  const auto must = [&](const std::string& be) {
    refuse(path, "\"" + field.key + "\" must be " + be);
  };
  if (const auto* one = std::get_if<OneWord>(&field.kind)) {
    const auto word = node.value_exact<std::string>();
    if (word && std::find(one->words.begin(), one->words.end(), *word) != one->words.end()) {
      return *word;
    }
    std::string known;
    for (const std::string& text : one->words)
      known += (known.empty() ? "\"" : " or \"") + text + "\"";
    must(known + (word ? did_you_mean(*word, one->words) : ""));
  }
  if (std::holds_alternative<OnOff>(field.kind)) {
    const auto flag = node.value_exact<bool>();
    if (!flag) must("true or false");
    return *flag;
  }
  if (std::holds_alternative<RealNumber>(field.kind)) {
    const auto number = node.value<double>();
    if (!number || !node.is_number()) must("a number");
    return *number;
  }
  const auto number = node.value_exact<std::int64_t>();
  if (!number || *number < 1) refuse(path, must_be_whole(field));
  return *number;
}

}  // namespace

std::vector<std::string> known_models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

void refuse_without_effect(const std::string& path, const toml::table& table, const Model& model) {
  for (const auto& [node_key, node] : table) {
    const std::string key(node_key.str());
    if (!key.starts_with("rotary_")) continue;
    if (model.position != PositionKind::rotary) {
      refuse(path, key + " cannot take effect without position = \"rotary\"");
    }
    if (key != "rotary_base" && key != "rotary_scaling" && model.rotary.scaling == 1.0) {
      refuse(path, key + " cannot take effect without a rotary_scaling other than 1");
    }
  }
}

}  // namespace

Model read_model(const std::string& name_or_path) {
  const std::string path = path_of(name_or_path);
  const std::string content = read_toml_text(path, "the model file");
  toml::table table;
  try {
    table = toml::parse(content, path);
  } catch (const toml::parse_error& error) {
    refuse(path, "line " + std::to_string(error.source().begin.line) + ": " +
                     std::string(error.description()));
  }
  Model model;
  model.name = made_plain(fs::path(path).stem().string());
  std::vector<std::string> known;
  for (const FieldFacts& field : model_fields().facts()) known.push_back(field.key);
  for (const auto& [key, node] : table) {
    const std::string text(key.str());
    if (std::find(known.begin(), known.end(), text) == known.end())
      refuse(path, "unknown key \"" + text + "\"" + did_you_mean(text, known));
  }
  FieldValues values;
  for (const FieldFacts& field : model_fields().facts()) {
    if (const auto node = table[field.key]) {
      values[field.key] = value_of(path, node, field);
    } else if (!field.optional) {
      refuse(path, must_be_whole(field));
    }
  }
  if (const std::string why = out_of_range(model_fields().facts(), values); !why.empty())
    refuse(path, why);
  model_fields().set(model, values);
  if (const std::string why = contradiction(model); !why.empty()) refuse(path, why);
  refuse_without_effect(path, table, model);
  return model;
}

}  // namespace fourfold::inline schedule::inline models
