// Tables of TOML files that people write, read strictly: every refusal is one sentence with file
// and line, and what is not known is refused with what is nearest to it.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <vector>

#include "support/field.hpp"

namespace fourfold::inline support {

// `what` is for a file that cannot be read: "the model file". Throws std::runtime_error, also with
// the line where it is no TOML.
toml::table parse_toml_file(const std::string& path, const std::string& what = "");

// Throws std::runtime_error: "mine.toml, line 3: why".
[[noreturn]] void refuse_line(const std::string& path, unsigned line, const std::string& why);

// Every function throws so.
class TomlReader {
 public:
  explicit TomlReader(std::string path);

  const std::string& path() const { return path_; }
  [[noreturn]] void refuse(const toml::node& node, const std::string& why) const;
  void allow_only(const toml::table& table, const std::vector<std::string>& known) const;

  const toml::node& at(const toml::table& table, const std::string& key) const;
  const toml::table& table(const toml::table& table, const std::string& key) const;
  const toml::array& list(const toml::table& table, const std::string& key,
                          const std::string& of) const;
  std::string text(const toml::table& table, const std::string& key) const;
  bool flag(const toml::table& table, const std::string& key) const;

  // A node, which goes by `key` in sentences.
  std::string one_of(const toml::node& node, const std::string& key,
                     const std::vector<std::string>& words) const;
  FieldValue value(const toml::node& node, const FieldFacts& field) const;

 private:
  std::string path_;
};

}  // namespace fourfold::inline support
