// A TOML file edited as text: what people wrote stays as it is but for what is replaced.
#pragma once

#include <toml++/toml.h>

#include <optional>
#include <string>
#include <vector>

namespace fourfold::inline scaling::inline calibrate {

using TomlPath = std::vector<std::string>;

// A header, or a key with its value; one inside an inline table or an array is none of its own.
struct TomlStatement {
  std::size_t begin = 0, end = 0;  // with the end of its line
  std::size_t value = 0;           // where the value begins; of a header the same as `end`
  TomlPath table;                  // that it stands in; of a header, which it opens
  TomlPath path;                   // whole: table and key
  bool is_header() const { return value == end; }
};

// Of a text that is valid TOML, in their order.
std::vector<TomlStatement> toml_statements(const std::string& text);

// The text with other tables below `table`, however they were written: as headers, dotted keys or
// inline. `tables` is the new text, which begins with a header; what stands below a key of `kept`
// stays. Throws toml::parse_error on what is no TOML.
std::string with_tables(const std::string& text, const std::string& table,
                        const std::string& tables, const std::vector<std::string>& kept);

// What a table below a key of another has, under a header of its own; empty where it is none.
std::string under_header(const toml::table& whole, const std::string& table,
                         const std::string& key);

// The text with another value of a key that has one under that path; nothing where it has none.
std::optional<std::string> with_value(const std::string& text, const TomlPath& path,
                                      const std::string& value);

}  // namespace fourfold::inline scaling::inline calibrate
