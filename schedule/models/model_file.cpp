// Reads a model from TOML, refusing what it does not know; see model_file.hpp.
#include "schedule/models/model_file.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "support/field.hpp"
#include "support/nearest_name.hpp"
#include "support/toml_text.hpp"

namespace fourfold {

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
  throw std::runtime_error("unknown model \"" + name_or_path + "\"" +
                           did_you_mean(name_or_path, known_models()) +
                           " `fourfold models` lists all; a file of your own goes by its path, "
                           "ending in .toml, and `fourfold models template` prints one to start "
                           "from");
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
  model.name = fs::path(path).stem().string();
  std::vector<std::string> known;
  for (const FieldFacts& field : model_fields().facts()) known.push_back(field.key);
  for (const auto& [key, node] : table) {
    const std::string text(key.str());
    if (std::find(known.begin(), known.end(), text) == known.end())
      refuse(path, "unknown key \"" + text + "\"" + did_you_mean(text, known));
  }
  FieldValues values;
  for (const std::string& key : known) {
    const auto value = table[key].value_exact<std::int64_t>();
    if (!value || *value < 1) refuse(path, "\"" + key + "\" must be a whole number, at least 1");
    values[key] = *value;
  }
  if (const std::string why = out_of_range(model_fields().facts(), values); !why.empty())
    refuse(path, why);
  model_fields().set(model, values);
  if (model.hidden % model.heads != 0) {
    refuse(path, "hidden = " + std::to_string(model.hidden) + " does not divide into " +
                     std::to_string(model.heads) + " heads");
  }
  return model;
}

}  // namespace fourfold
