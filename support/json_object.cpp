// Strict reading of JSON objects; see json_object.hpp.
#include "support/json_object.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "support/json_text.hpp"
#include "support/nearest_name.hpp"

namespace fourfold::inline support {
namespace {

// Products of a few such numbers are finite, too.
constexpr double most_of_a_number = 1e30;

}  // namespace

JsonObject::JsonObject(const nlohmann::json& value, std::string where)
    : value_(&value), where_(std::move(where)) {
  if (!value.is_object()) fail("a JSON object is expected, not " + std::string(value.type_name()));
}

void JsonObject::fail(const std::string& what) const {
  throw std::runtime_error(where_ + ": " + what);
}

bool JsonObject::has(const std::string& key) {
  asked_.push_back(key);
  return value_->contains(key);
}

const nlohmann::json& JsonObject::get(const std::string& key) {
  asked_.push_back(key);
  const auto found = value_->find(key);
  if (found == value_->end()) fail("key '" + key + "' is missing");
  return *found;
}

std::string JsonObject::text(const std::string& key) {
  const nlohmann::json& value = get(key);
  if (!value.is_string()) fail("'" + key + "' must be text");
  return value.get<std::string>();
}

double JsonObject::number(const std::string& key) {
  const nlohmann::json& value = get(key);
  if (!value.is_number()) fail("'" + key + "' must be a number");
  const double number = value.get<double>();
  if (!std::isfinite(number)) fail("'" + key + "' must be finite");
  if (std::abs(number) > most_of_a_number) fail("'" + key + "' is beyond all that is counted");
  return number;
}

std::int64_t JsonObject::integer(const std::string& key) {
  return whole(key, 0);
}

std::int64_t JsonObject::positive(const std::string& key) {
  return whole(key, 1);
}

std::int64_t JsonObject::whole(const std::string& key, std::int64_t least) {
  const std::optional<std::int64_t> number = whole_in(get(key));
  if (!number || *number < least) {
    fail("'" + key + "' must be a whole number, " + std::to_string(least) + " or more");
  }
  // What may be 0 may also be a seed.
  if (least > 0 && *number > most_of_a_count) {
    fail("'" + key + "' is " + std::to_string(*number) + ", but must be at most " +
         std::to_string(most_of_a_count));
  }
  return *number;
}

bool JsonObject::flag(const std::string& key) {
  const nlohmann::json& value = get(key);
  if (!value.is_boolean()) fail("'" + key + "' must be true or false");
  return value.get<bool>();
}

JsonObject JsonObject::object(const std::string& key) {
  return JsonObject(get(key), where_ + ", '" + key + "'");
}

void JsonObject::allow_only(const std::vector<std::string>& known) const {
  for (const auto& item : value_->items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      fail("unknown key '" + item.key() + "'" + did_you_mean(item.key(), known));
    }
  }
}

void JsonObject::finish() const {
  allow_only(asked_);
}

std::string JsonObject::one_of(const std::string& key, const std::vector<std::string>& words) {
  const std::string word = text(key);
  if (std::find(words.begin(), words.end(), word) == words.end()) {
    fail("unknown value '" + word + "' of '" + key + "'" + one_of_these(word, words));
  }
  return word;
}

nlohmann::json parse_json(const std::string& text, const std::string& where) {
  if (std::optional<nlohmann::json> value = json_in(text)) return *std::move(value);
  const std::string trouble = json_trouble(text);
  if (!trouble.empty()) throw std::runtime_error(where + " is not read: " + trouble);
  const std::string start = text.substr(0, std::min<std::size_t>(text.find('\n'), 60));
  throw std::runtime_error(where + " is no JSON: '" + start +
                           (text.size() > start.size() ? "...'" : "'"));
}

}  // namespace fourfold::inline support
