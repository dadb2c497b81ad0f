// A glance at the brackets, then nlohmann's parser; see json_text.hpp.
#include "support/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/json_object.hpp"

namespace fourfold::inline support {

namespace {

// What is seen of a text without parsing it.
struct Glance {
  int depth = 0;  // of lists and objects in each other
  bool zeros = false;
};

Glance glance_at(const std::string& text) {
  Glance seen;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (quoted && letter == '\\') {
      seen.zeros = seen.zeros || text.compare(i + 1, 5, "u0000") == 0;
      ++i;  // whatever follows ends no text
    }
    if (letter == '"') quoted = !quoted;
    if (quoted) continue;
    if (letter == '[' || letter == '{') seen.depth = std::max(seen.depth, ++depth);
    if (letter == ']' || letter == '}') --depth;
  }
  return seen;
}

}  // namespace

std::string json_trouble(const std::string& text) {
  const Glance seen = glance_at(text);
  if (seen.depth > most_json_depth) {
    return "its JSON nests more than " + std::to_string(most_json_depth) + " lists and objects";
  }
  return seen.zeros ? "a text in it holds the letter U+0000" : "";
}

std::optional<nlohmann::json> json_in(const std::string& text, ZeroLetters zeros) {
  const Glance seen = glance_at(text);
  if (seen.depth > most_json_depth) return std::nullopt;
  if (seen.zeros && zeros == ZeroLetters::refused) return std::nullopt;
  nlohmann::json value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole_in(const nlohmann::json& value, std::int64_t most) {
  if (!value.is_number_integer()) return std::nullopt;
  // What is written without a sign may be above all signed numbers.
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(most)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  const auto number = value.get<std::int64_t>();
  if (number < 0 || number > most) return std::nullopt;
  return number;
}

std::int64_t positive_up_to(JsonObject& object, const std::string& key, std::int64_t most) {
  const std::int64_t number = object.positive(key);
  if (number <= most) return number;
  object.fail("'" + key + "' is " + std::to_string(number) + ", but must be at most " +
              std::to_string(most));
}

double number_within(JsonObject& object, const std::string& key, double least, double most) {
  const double number = object.number(key);
  if (number >= least && number <= most) return number;
  object.fail(fmt::format("'{}' is {}, but must be from {} to {}", key, number, least, most));
}

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace fourfold::inline support
