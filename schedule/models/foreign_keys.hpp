// A config.json that is read key by key, and which of its keys nobody has read.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "schedule/models/foreign_config.hpp"

namespace fourfold::inline schedule::inline models {

using Keys = std::vector<const char*>;  // of one thing in several versions; the usual one first

// What it throws follows the file's name.
class ForeignKeys {
 public:
  ForeignKeys(const nlohmann::json& config, std::vector<NotSaid>& not_said)
      : config_(config), not_said_(not_said) {}

  // `has`: other than as null.
  bool says(const char* key) const;
  bool has(const char* key) const;
  bool is(const char* key, const nlohmann::json& value) const;
  // The first of them that is there; the usual one if none is.
  const char* key(const Keys& keys) const;
  ForeignKeys table(const char* key) const;
  // Throws if it is neither a list of words nor absent.
  std::vector<std::string> words(const char* key) const;
  // The key that asks for more than one expert; empty if none does.
  std::string experts() const;
  std::int64_t number(const Keys& keys) const;
  std::int64_t number(const Keys& keys, std::int64_t usual) const;
  double real(const Keys& keys, double usual) const;
  bool flag(const char* key, bool usual) const;
  std::string word(const char* key, const std::string& usual) const;

  // Lists a key that says anything else; `usual` is what it is without a word.
  void expect(const char* key, const nlohmann::json& taken, const nlohmann::json& usual) const;
  void expect(const char* key, const nlohmann::json& taken) const { expect(key, taken, taken); }
  void not_said(const std::string& what, const std::string& taken,
                std::int64_t parameters = 0) const;
  // Lists those that nobody read, and that say more than how a model is trained, kept or sampled.
  void list_unread() const;

 private:
  const nlohmann::json& config_;
  std::vector<NotSaid>& not_said_;
  mutable std::set<std::string> read_;
};

}  // namespace fourfold::inline schedule::inline models
