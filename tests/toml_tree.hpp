// TOML files as trees that tests edit, and back to text.
#pragma once

#include <toml++/toml.h>

#include <cmath>
#include <sstream>
#include <string>

#include "support/json_text.hpp"
#include "tests/edits.hpp"

namespace fourfold::tests::edits {

inline Tree tree_of(const std::string& toml) {
  std::ostringstream json;
  json << toml::json_formatter(toml::parse(toml));
  return Tree::parse(json.str());
}

// A value on one line, tables in braces.
inline std::string value_text(const Tree& value) {
  std::string text;
  if (value.is_object()) {
    for (const auto& [key, entry] : value.items()) {
      text += (text.empty() ? "{ " : ", ") + json_text(key) + " = " + value_text(entry);
    }
    return text.empty() ? "{}" : text + " }";
  }
  if (value.is_array()) {
    for (const Tree& entry : value) text += (text.empty() ? "[" : ", ") + value_text(entry);
    return text.empty() ? "[]" : text + "]";
  }
  if (value.is_number_float() && std::isnan(value.get<double>())) return "nan";
  if (value.is_number_float() && std::isinf(value.get<double>())) return "inf";
  if (value.is_null()) return "\"\"";  // TOML has none
  return json_text(value);
}

// Every entry of the file's table on a line of its own.
inline std::string toml_text(const Tree& table) {
  std::string text;
  for (const auto& [key, entry] : table.items()) {
    text += json_text(key) + " = " + value_text(entry) + "\n";
  }
  return text;
}

}  // namespace fourfold::tests::edits
