// From toml++ to nlohmann::json; see toml_file.hpp.
#include "scaling/words/toml_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "support/plain_sentence.hpp"
#include "support/toml_table.hpp"

namespace fourfold::inline scaling::inline words {
namespace {

using nlohmann::json;

// What all values of one file share.
struct Place {
  const std::string& path;
  TomlLines* lines;
};

json json_of(const toml::node& node, const std::string& pointer, const Place& place) {
  if (place.lines != nullptr) {
    place.lines->emplace(
        pointer, TomlPlace{static_cast<int>(node.source().begin.line), node.value<std::string>()});
  }
  if (const toml::table* table = node.as_table()) {
    json object = json::object();
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      object[name] = json_of(value, pointer + '/' + name, place);
    }
    return object;
  }
  if (const toml::array* array = node.as_array()) {
    json list = json::array();
    for (const toml::node& value : *array) {
      list.push_back(json_of(value, pointer + '/' + std::to_string(list.size()), place));
    }
    return list;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  refuse_line(place.path, node.source().begin.line, "dates and times have no meaning here");
}

// Sentences of JsonObject in TOML's words: tables, not objects.
std::string in_words_of_toml(std::string sentence) {
  const std::pair<const char*, const char*> words[]{
      {"a JSON object is expected, not boolean", "a table is expected, not true or false"},
      {"a JSON object is expected, not array", "a table is expected, not a list"},
      {"a JSON object is expected, not string", "a table is expected, not text"},
      {"a JSON object is expected, not number", "a table is expected, not a number"}};
  for (const auto& [json_words, toml_words] : words) {
    const std::size_t found = sentence.find(json_words);
    if (found != std::string::npos) {
      sentence.replace(found, std::string(json_words).size(), toml_words);
    }
  }
  return sentence;
}

}  // namespace

json read_toml(const std::string& path, TomlLines* lines) {
  return json_of(parse_toml_file(path), "", {path, lines});
}

namespace {

// The words of a sentence between quotes of either kind.
std::vector<std::string> quoted_words(const std::string& sentence) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < sentence.size(); ++begin) {
    const char quote = sentence[begin];
    if (quote != '\'' && quote != '"') continue;
    const std::size_t end = sentence.find(quote, begin + 1);
    if (end == std::string::npos) break;
    if (end > begin + 1) words.push_back(sentence.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  return words;
}

}  // namespace

int line_of(const TomlLines& lines, const std::string& pointer, const std::string& sentence) {
  for (const std::string& below : {pointer, std::string()}) {
    for (const std::string& word : quoted_words(sentence)) {
      for (const auto& [key, place] : lines) {
        if (!key.starts_with(below + '/')) continue;
        if (key.substr(key.rfind('/') + 1) == word || place.text == word) return place.line;
      }
    }
  }
  const auto own = lines.find(pointer);
  return own == lines.end() ? 1 : own->second.line;
}

void located(const TomlLines& lines, const std::string& pointer,
             const std::function<void()>& read) {
  try {
    read();
  } catch (const AtLine&) {
    throw;
  } catch (const std::exception& error) {
    throw AtLine(fmt::format("line {}: {}", line_of(lines, pointer, error.what()),
                             in_words_of_toml(plain_sentence(error))));
  }
}

void read_toml_file(const std::string& path,
                    const std::function<void(const json&, const TomlLines&)>& read) {
  TomlLines lines;
  const json file = read_toml(path, &lines);
  try {
    located(lines, "", [&] { read(file, lines); });
  } catch (const AtLine& error) {
    throw std::runtime_error(path + ", " + error.what());
  }
}

void refuse_broken_texts(const TomlLines& lines) {
  constexpr char deleted = 127;
  for (const auto& [pointer, place] : lines) {
    if (!place.text) continue;
    const bool broken = std::ranges::any_of(*place.text, [](char letter) {
      return static_cast<unsigned char>(letter) < ' ' || letter == deleted;
    });
    if (!broken && !place.text->empty()) continue;
    throw AtLine(fmt::format(
        "line {}: '{}' {}", place.line, pointer.substr(pointer.rfind('/') + 1),
        broken ? "has a line end, a tab or another control character; write it as one line"
               : "is empty; say something, or leave it out"));
  }
}

}  // namespace fourfold::inline scaling::inline words
