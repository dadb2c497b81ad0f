// Reads a model from TOML, refusing what it does not know; see model_file.hpp.
#include "schedule/models/model_file.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "schedule/models/launch_words.hpp"
#include "support/field.hpp"
#include "support/json_object.hpp"
#include "support/nearest_name.hpp"
#include "support/plain_name.hpp"
#include "support/text_file.hpp"
#include "support/toml_table.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

namespace fs = std::filesystem;

fs::path folder() {
  return fs::path(FOURFOLD_SOURCE_DIR) / "schedule" / "models";
}

std::string path_of(const std::string& name_or_path) {
  if (name_or_path.ends_with(".toml") || name_or_path.ends_with(".json")) return name_or_path;
  const fs::path path = folder() / (name_or_path + ".toml");
  std::error_code missing;
  if (name_or_path.find('/') == std::string::npos && fs::exists(path, missing)) {
    return path.string();
  }
  const fs::path config = fs::path(name_or_path) / "config.json";
  if (!name_or_path.empty() && fs::exists(config, missing)) return config.string();
  const std::string nearest = did_you_mean(name_or_path, known_models());
  throw std::runtime_error("unknown model \"" + name_or_path + "\"" + nearest +
                           (nearest.empty() ? ";" : "") +
                           " `fourfold models` lists all; a file of your own goes by its path, "
                           "ending in .toml, and `fourfold models template` prints one to start "
                           "from");
}

// At the first key that the sentence names.
[[noreturn]] void refuse(const TomlReader& reader, const toml::table& table,
                         const std::string& why) {
  for (const auto& [key, node] : table) {
    if (why.find(key.str()) != std::string::npos) reader.refuse(node, why);
  }
  reader.refuse(table, why);
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

void refuse_without_effect(const TomlReader& reader, const toml::table& table, const Model& model) {
  for (const auto& [node_key, node] : table) {
    const std::string key(node_key.str());
    if (!key.starts_with("rotary_")) continue;
    if (model.position != PositionKind::rotary) {
      reader.refuse(node, key + " cannot take effect without position = \"rotary\"");
    }
    if (key != "rotary_base" && key != "rotary_scaling" && model.rotary.scaling == 1.0) {
      reader.refuse(node, key + " cannot take effect without a rotary_scaling other than 1");
    }
  }
}

Model read_toml_model(const std::string& path) {
  const toml::table table = parse_toml_file(path, "the model file");
  const TomlReader reader(path);
  Model model;
  model.name = made_plain(fs::path(path).stem().string());
  std::vector<std::string> known;
  for (const FieldFacts& field : model_fields().facts()) known.push_back(field.key);
  reader.allow_only(table, known);
  FieldValues values;
  for (const FieldFacts& field : model_fields().facts()) {
    if (field.optional && !table.contains(field.key)) continue;
    values[field.key] = reader.value(reader.at(table, field.key), field);
  }
  model_fields().set(model, values);
  if (const std::string why = contradiction(model); !why.empty()) refuse(reader, table, why);
  refuse_without_effect(reader, table, model);
  return model;
}

// Its own name, or that of the folder of a config.json.
ForeignModel read_config(const std::string& path) {
  const nlohmann::json config = parse_json(read_text_file(path, "the model file"), path);
  if (!config.is_object()) throw std::runtime_error(path + " is no JSON object");
  const fs::path file(path);
  try {
    return model_in_config(config, file.stem() == "config"
                                       ? name_of_folder((file.parent_path() / ".").string())
                                       : made_plain(file.stem().string()));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + " " + error.what());
  }
}

}  // namespace

ForeignModel read_foreign_model(const std::string& name_or_path) {
  if (says_launch(name_or_path)) return model_in_launch(LaunchWords(name_or_path));
  const std::string path = path_of(name_or_path);
  if (path.ends_with(".json")) return read_config(path);
  return {read_toml_model(path), {}};
}

Model read_model(const std::string& name_or_path) {
  return read_foreign_model(name_or_path).model;
}

std::string not_said_by(const std::string& name_or_path) {
  const ForeignModel foreign = read_foreign_model(name_or_path);
  return not_said_sentence(foreign.model.name, foreign.not_said);
}

}  // namespace fourfold::inline schedule::inline models
