// From toml++ to nlohmann::json; see toml_file.hpp.
#include "scaling/study/toml_file.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/toml_text.hpp"

namespace fourfold {
namespace {

using nlohmann::json;

json json_of(const toml::node& node, const std::string& path) {
  if (const toml::table* table = node.as_table()) {
    json object = json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value, path);
    return object;
  }
  if (const toml::array* array = node.as_array()) {
    json list = json::array();
    for (const toml::node& value : *array) list.push_back(json_of(value, path));
    return list;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  throw std::runtime_error(fmt::format("{}, line {}: dates and times have no meaning here", path,
                                       node.source().begin.line));
}

}  // namespace

json read_toml(const std::string& path) {
  const std::string text = read_toml_text(path, "");
  try {
    return json_of(toml::parse(text, path), path);
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(
        fmt::format("{}, line {}: {}", path, error.source().begin.line, error.description()));
  }
}

}  // namespace fourfold
