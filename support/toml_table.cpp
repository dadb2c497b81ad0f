// Nodes as values, or as sentences about them; see toml_table.hpp.
#include "support/toml_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "support/nearest_name.hpp"
#include "support/toml_text.hpp"

namespace fourfold::inline support {
namespace {

std::string quoted(const std::string& key) {
  return '"' + key + '"';
}

// The system ends a name at this letter: what is looked at would not be what is opened.
void refuse_zeros(const toml::node& node, const std::string& path) {
  const auto expect_none = [&](std::string_view text, const toml::source_region& where) {
    if (text.find('\0') == std::string_view::npos) return;
    refuse_line(path, where.begin.line, "a text holds the letter U+0000");
  };
  if (const auto* text = node.as_string()) {
    expect_none(text->get(), node.source());
  } else if (const auto* table = node.as_table()) {
    for (const auto& [key, value] : *table) {
      expect_none(key.str(), key.source());
      refuse_zeros(value, path);
    }
  } else if (const auto* list = node.as_array()) {
    for (const toml::node& value : *list) refuse_zeros(value, path);
  }
}

}  // namespace

toml::table parse_toml_file(const std::string& path, const std::string& what) {
  const std::string text = read_toml_text(path, what);
  try {
    toml::table table = toml::parse(text, path);
    refuse_zeros(table, path);
    return table;
  } catch (const toml::parse_error& error) {
    refuse_line(path, error.source().begin.line,
                "this is not TOML: " + std::string(error.description()));
  }
}

void refuse_line(const std::string& path, unsigned line, const std::string& why) {
  throw std::runtime_error(path + ", line " + std::to_string(line) + ": " + why);
}

TomlReader::TomlReader(std::string path) : path_(std::move(path)) {}

void TomlReader::refuse(const toml::node& node, const std::string& why) const {
  refuse_line(path_, node.source().begin.line, why);
}

void TomlReader::allow_only(const toml::table& table, const std::vector<std::string>& known) const {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (std::ranges::find(known, name) != known.end()) continue;
    refuse_line(path_, key.source().begin.line,
                "unknown key " + quoted(name) + did_you_mean(name, known));
  }
}

const toml::node& TomlReader::at(const toml::table& table, const std::string& key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) refuse(table, quoted(key) + " is missing");
  return *node;
}

const toml::table& TomlReader::table(const toml::table& table, const std::string& key) const {
  const toml::node& node = at(table, key);
  if (!node.is_table()) refuse(node, quoted(key) + " must be a table");
  return *node.as_table();
}

const toml::array& TomlReader::list(const toml::table& table, const std::string& key,
                                    const std::string& of) const {
  const toml::node& node = at(table, key);
  if (!node.is_array()) refuse(node, quoted(key) + " must be a list of " + of);
  return *node.as_array();
}

std::string TomlReader::text(const toml::table& table, const std::string& key) const {
  const toml::node& node = at(table, key);
  const auto value = node.value_exact<std::string>();
  if (!value || value->empty()) refuse(node, quoted(key) + " must be a text in quotes");
  return *value;
}

bool TomlReader::flag(const toml::table& table, const std::string& key) const {
  const toml::node& node = at(table, key);
  if (!node.is_boolean()) refuse(node, quoted(key) + " must be true or false");
  return node.value_or(false);
}

std::string TomlReader::one_of(const toml::node& node, const std::string& key,
                               const std::vector<std::string>& words) const {
  const auto word = node.value_exact<std::string>();
  if (word && std::ranges::find(words, *word) != words.end()) return *word;
  std::string known;
  for (const std::string& one : words) {
    if (!known.empty()) known += words.size() == 2 ? " or " : ", ";
    known += quoted(one);
  }
  refuse(node, quoted(key) + " must be " + (words.size() > 2 ? "one of " : "") + known +
                   (word ? did_you_mean(*word, words) : ""));
}

// A real number may be written as a whole one.
FieldValue TomlReader::value(const toml::node& node, const FieldFacts& field) const {
  const auto must = [&](const std::string& be) {
    refuse(node, quoted(field.key) + " must be " + be);
  };
  if (const auto* one = std::get_if<OneWord>(&field.kind)) {
    return one_of(node, field.key, one->words);
  }
  if (std::holds_alternative<OnOff>(field.kind)) {
    const auto flag = node.value_exact<bool>();
    if (!flag) must("true or false");
    return *flag;
  }
  if (std::holds_alternative<FreeText>(field.kind)) {
    const auto text = node.value_exact<std::string>();
    if (!text || text->empty()) must("a text in quotes");
    return *text;
  }
  FieldValue value;
  if (std::holds_alternative<RealNumber>(field.kind)) {
    if (!node.is_number()) must("a number");
    value = *node.value<double>();
  } else {
    const auto& range = std::get<WholeNumber>(field.kind);
    const auto whole = node.value_exact<std::int64_t>();
    if (!whole || *whole < range.least) {
      must("a whole number, " + std::to_string(range.least) + " or more");
    }
    value = *whole;
  }
  if (const std::string why = out_of_range({field}, {{field.key, value}}); !why.empty()) {
    refuse(node, why);
  }
  return value;
}

}  // namespace fourfold::inline support
