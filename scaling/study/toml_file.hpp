// TOML files as JSON values: read with the same strict JsonObject as everything else.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fourfold {

// Where each table, list and value of a file begins, by its JSON pointer: "/machine/0/points".
using TomlLines = std::map<std::string, int>;

// Throws std::runtime_error that names file and line if it is unreadable, no TOML, or has dates.
nlohmann::json read_toml(const std::string& path, TomlLines* lines = nullptr);

// The line that a sentence about what stands at `pointer` is about: that of the first key below it,
// or else of the whole file, that the sentence names between quotes, or else the pointer's own.
int line_of(const TomlLines& lines, const std::string& pointer, const std::string& sentence);

// Sentences of JsonObject in TOML's words: tables, not objects.
std::string in_words_of_toml(std::string sentence);

}  // namespace fourfold
