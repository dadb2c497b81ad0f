// Reads patterns of layers; see layer_pattern.hpp.
#include "schedule/models/layer_pattern.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>

#include "support/nearest_name.hpp"

namespace fourfold::inline schedule::inline models {

namespace {

// A kind's fields, by their names.
struct LayerField {
  const char* key;
  std::int64_t most;
  std::int64_t LayerKind::*place;
};
constexpr LayerField fields[]{{"window_tokens", most_sequence, &LayerKind::window}};
constexpr const char* kind_name = "attention";

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument("layer_pattern " + why);
}

void read_field(const std::string& word, LayerKind& kind) {
  const std::size_t sign = word.find('=');
  const std::string key = word.substr(0, sign);
  const auto* const field =
      std::ranges::find_if(fields, [&](const auto& f) { return key == f.key; });
  if (field == std::end(fields)) {
    std::vector<std::string> known;
    for (const LayerField& one : fields) known.emplace_back(one.key);
    refuse("has a field \"" + key + "\", which attention has not" + did_you_mean(key, known));
  }
  const std::string number = sign == std::string::npos ? "" : word.substr(sign + 1);
  std::int64_t value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool whole = read.ec == std::errc() && read.ptr == number.data() + number.size();
  if (!whole || value < 1 || value > field->most) {
    refuse("has " + key + " \"" + number + "\", which is no whole number from 1 to " +
           std::to_string(field->most));
  }
  kind.*field->place = value;
}

LayerKind read_layer(const std::string& text) {
  std::istringstream words(text);
  std::string word;
  if (!(words >> word)) refuse("has a layer without a name");
  if (word != kind_name) {
    refuse("has a layer \"" + word + "\"; the only kind known is \"" + kind_name + "\"");
  }
  LayerKind kind;
  while (words >> word) read_field(word, kind);
  return kind;
}

}  // namespace

std::vector<LayerKind> kinds_in(const std::string& pattern) {
  std::vector<LayerKind> kinds;
  if (pattern.empty()) return {{}};
  for (std::size_t first = 0; first <= pattern.size();) {
    const std::size_t comma = std::min(pattern.find(',', first), pattern.size());
    kinds.push_back(read_layer(pattern.substr(first, comma - first)));
    first = comma + 1;
  }
  return kinds;
}

std::string pattern_fault(const std::string& pattern) {
  try {
    kinds_in(pattern);
  } catch (const std::invalid_argument& fault) {
    return fault.what();
  }
  return "";
}

std::vector<LayerKind> layer_kinds(const Model& model, std::int64_t first, std::int64_t count) {
  const std::vector<LayerKind> kinds = kinds_in(model.layer_pattern);
  std::vector<LayerKind> result;
  for (std::int64_t layer = first; layer < first + count; ++layer) {
    result.push_back(kinds[static_cast<std::size_t>(layer) % kinds.size()]);
  }
  return result;
}

std::string pattern_of(const std::vector<LayerKind>& kinds) {
  std::string pattern;
  for (const LayerKind& kind : kinds) {
    if (!pattern.empty()) pattern += ", ";
    pattern += kind_name;
    for (const LayerField& field : fields) {
      const std::int64_t value = kind.*field.place;
      if (value > 0) pattern.append(" ").append(field.key).append("=" + std::to_string(value));
    }
  }
  return pattern;
}

ShortStack short_stack(const Model& model) {
  const std::vector<LayerKind> pattern = kinds_in(model.layer_pattern);
  const auto period = static_cast<std::int64_t>(pattern.size());
  ShortStack stack{model, {}};
  std::vector<LayerKind> kinds;
  for (std::int64_t place = 0; place < std::min(period, model.layers); ++place) {
    const LayerKind& kind = pattern[static_cast<std::size_t>(place)];
    const auto known = std::ranges::find(kinds, kind);
    const auto number = static_cast<std::size_t>(known - kinds.begin());
    if (known == kinds.end()) {
      kinds.push_back(kind);
      stack.times.push_back(0);
    }
    stack.times[number] += (model.layers - place + period - 1) / period;
  }
  stack.model.layers = static_cast<std::int64_t>(kinds.size());
  if (!model.layer_pattern.empty()) stack.model.layer_pattern = pattern_of(kinds);
  return stack;
}

}  // namespace fourfold::inline schedule::inline models
