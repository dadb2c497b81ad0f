// TOML files as JSON values: read with the same strict JsonObject as everything else.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace fourfold::inline scaling::inline words {

// Where a table, list or value of a file begins, and what it says if it is text.
struct TomlPlace {
  int line = 1;
  std::optional<std::string> text = {};
};
// By JSON pointer: "/machine/0/points".
using TomlLines = std::map<std::string, TomlPlace>;

// Throws std::runtime_error that names file and line if it is unreadable, no TOML, or has dates.
nlohmann::json read_toml(const std::string& path, TomlLines* lines = nullptr);

// The line that a sentence about what stands at `pointer` is about: that of the first key or text
// below it, or else of the whole file, that the sentence has between quotes, or else the pointer's
// own.
int line_of(const TomlLines& lines, const std::string& pointer, const std::string& sentence);

// A sentence that begins with its line.
struct AtLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What goes wrong while `read` reads what stands at `pointer` is said with its line, as AtLine.
void located(const TomlLines& lines, const std::string& pointer, const std::function<void()>& read);

// Hands over a file's content and the lines it stands on; what goes wrong is said with both:
// "mine.toml, line 3: why".
void read_toml_file(const std::string& path,
                    const std::function<void(const nlohmann::json&, const TomlLines&)>& read);

// Throws AtLine if a text of the file is empty, which says nothing, or has a line end, a tab or
// another control character: texts stand in a cell of a table, in a heading, or in a script that
// draws.
void refuse_broken_texts(const TomlLines& lines);

}  // namespace fourfold::inline scaling::inline words
