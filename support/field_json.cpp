// Between fields and JSON; see field_json.hpp. A key "a.b" is b in the object a.
#include "support/field_json.hpp"

#include <nlohmann/json.hpp>

#include "support/json_object.hpp"

namespace fourfold::inline support {
namespace {

using nlohmann::json;

std::vector<std::string> texts_in(JsonObject& object, const std::string& key) {
  const json& list = object.get(key);
  const auto is_text = [](const json& entry) { return entry.is_string(); };
  if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_text)) {
    throw std::runtime_error("'" + key + "' must be a list of words");
  }
  return list.get<std::vector<std::string>>();
}

FieldValue value_in(JsonObject& object, const std::string& key, const FieldKind& kind) {
  if (const auto* range = std::get_if<WholeNumber>(&kind)) {
    return range->least > 0 ? object.positive(key) : object.integer(key);
  }
  if (std::holds_alternative<RealNumber>(kind)) return object.number(key);
  if (const auto* one = std::get_if<OneWord>(&kind)) return object.one_of(key, one->words);
  if (std::holds_alternative<OnOff>(kind)) return object.flag(key);
  if (std::holds_alternative<FreeTexts>(kind)) return texts_in(object, key);
  return object.text(key);
}

// The keys of one level: "overlap" once, although several fields are in it.
std::vector<std::string> first_parts(const std::vector<FieldFacts>& fields) {
  std::vector<std::string> parts;
  for (const FieldFacts& field : fields) {
    const std::string part = field.key.substr(0, field.key.find('.'));
    if (parts.empty() || parts.back() != part) parts.push_back(part);
  }
  return parts;
}

// The fields in the object `part`, by their keys in it.
std::vector<FieldFacts> inside(const std::vector<FieldFacts>& fields, const std::string& part) {
  std::vector<FieldFacts> found;
  for (FieldFacts field : fields) {
    if (!field.key.starts_with(part + '.')) continue;
    field.key.erase(0, part.size() + 1);
    found.push_back(field);
  }
  return found;
}

enum class Wanted { all, given };

FieldValues read(JsonObject object, const std::vector<FieldFacts>& fields, Wanted wanted) {
  const std::vector<std::string> parts = first_parts(fields);
  object.allow_only(parts);
  FieldValues values;
  for (const std::string& part : parts) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const FieldFacts& facts) { return facts.key == part; });
    const bool optional = field != fields.end() && field->optional;
    if ((wanted == Wanted::given || optional) && !object.has(part)) continue;
    if (field != fields.end()) {
      values[part] = value_in(object, part, field->kind);
      continue;
    }
    for (auto& [key, value] : read(object.object(part), inside(fields, part), wanted)) {
      values[part + '.' + key] = value;
    }
  }
  if (const std::string why = out_of_range(fields, values); !why.empty()) object.fail(why);
  return values;
}

template <typename Json>
void put(Json& object, const std::string& key, const FieldValue& value) {
  const std::size_t dot = key.find('.');
  if (dot != std::string::npos) {
    put(object[key.substr(0, dot)], key.substr(dot + 1), value);
  } else {
    std::visit([&](const auto& plain) { object[key] = plain; }, value);
  }
}

}  // namespace

json json_of_values(const FieldValues& values) {
  json object = json::object();
  for (const auto& [key, value] : values) put(object, key, value);
  return object;
}

nlohmann::ordered_json ordered_json_of(const std::vector<FieldFacts>& fields,
                                       const FieldValues& values) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const FieldFacts& field : fields) {
    const auto found = values.find(field.key);
    if (found != values.end()) put(object, field.key, found->second);
  }
  return object;
}

FieldValues read_fields(JsonObject object, const std::vector<FieldFacts>& fields) {
  return read(std::move(object), fields, Wanted::all);
}

FieldValues read_given_fields(JsonObject object, const std::vector<FieldFacts>& fields) {
  return read(std::move(object), fields, Wanted::given);
}

}  // namespace fourfold::inline support
