// One JSON object that is read strictly: every key is asked for once, keys nobody asked for are
// errors that name the nearest known one.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace fourfold::inline support {

// Every function throws std::runtime_error with one sentence that starts with `where`.
class JsonObject {
 public:
  JsonObject(const nlohmann::json& value, std::string where);

  // Optional: refuses keys other than these now, before a misspelt one is reported as missing.
  void allow_only(const std::vector<std::string>& known) const;

  bool has(const std::string& key);                   // an optional key: counts as asked for
  const nlohmann::json& get(const std::string& key);  // throws if the key is missing
  std::string text(const std::string& key);
  double number(const std::string& key);
  std::int64_t integer(const std::string& key);   // at least 0
  std::int64_t positive(const std::string& key);  // at least 1
  bool flag(const std::string& key);
  JsonObject object(const std::string& key);

  // The value of `key`, which is one of `words`.
  std::string one_of(const std::string& key, const std::vector<std::string>& words);

  [[noreturn]] void fail(const std::string& what) const;

  // Call last: throws if the object has a key that was not asked for.
  void finish() const;

 private:
  std::int64_t whole(const std::string& key, std::int64_t least);

  const nlohmann::json* value_;  // outlives this reader
  std::string where_;
  std::vector<std::string> asked_;
};

// Parses one JSON text; throws std::runtime_error: `where` and why it is no JSON.
nlohmann::json parse_json(const std::string& text, const std::string& where);

}  // namespace fourfold::inline support
