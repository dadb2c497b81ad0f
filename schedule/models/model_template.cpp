// The table of fields as keys, and as comments; see model_template.hpp.
#include "schedule/models/model_template.hpp"

#include <array>
#include <charconv>
#include <sstream>

#include "schedule/models/model.hpp"
#include "schedule/models/model_file.hpp"
#include "support/field.hpp"
#include "support/prose.hpp"

namespace fourfold::inline schedule::inline models {
namespace {

constexpr const char* example = "gpt2-124m";
constexpr const char* another = "llama3.1-8b";  // which has what the first leaves out

constexpr const char* head =
    "A model of your own: equal transformer blocks between an embedding and a head. Save this, "
    "change the numbers and use it by its path, which ends in .toml:\n"
    "  fourfold models template > my-model.toml\n"
    "  fourfold project --platform frontier --model my-model.toml --devices 64\n"
    "`fourfold models` lists those that are shipped. docs/campaigns.md has the keys as a table.";

// "a whole number from 1 to 10000, as ..."
std::string what_it_may_be(const FieldFacts& field) {
  if (const auto* range = std::get_if<WholeNumber>(&field.kind)) {
    return "a whole number from " + std::to_string(range->least) + " to " +
           std::to_string(range->most);
  }
  if (const auto* one = std::get_if<OneWord>(&field.kind)) {
    std::string text;
    for (const std::string& word : one->words)
      text += (text.empty() ? "\"" : " or \"") + word + '"';
    return text;
  }
  if (std::holds_alternative<OnOff>(field.kind)) return "true or false";
  return std::holds_alternative<FreeText>(field.kind) ? "a text" : "a number";
}

std::string written(const FieldValue& value) {
  if (const auto* on = std::get_if<bool>(&value)) return *on ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) {
    std::array<char, 32> digits{};  // as few as say it exactly
    return {digits.data(), std::to_chars(digits.begin(), digits.end(), *number).ptr};
  }
  return '"' + std::get<std::string>(value) + '"';
}

}  // namespace

std::string in_comment(const std::string& text) {
  std::istringstream lines(wrapped(text, line_width - 2));
  std::string result;
  for (std::string line; std::getline(lines, line);) result += "# " + line + '\n';
  return result;
}

std::string model_file_text(const Model& model) {
  std::string text;
  for (const auto& [key, value] : model_fields().values(model)) {
    text += key + " = " + written(value) + '\n';
  }
  return text;
}

std::string model_template() {
  const FieldValues values = model_fields().values(read_model(example));
  const FieldValues others = model_fields().values(read_model(another));
  std::string text = in_comment(head);
  for (const FieldFacts& field : model_fields().facts()) {
    const auto value = values.find(field.key);
    const bool said = value != values.end();
    text += '\n' + in_comment(field.key + ": " + field.help + "; " + what_it_may_be(field) +
                              (said ? "." : ". May be left out."));
    const auto typical = others.find(field.key);
    text += said                      ? field.key + " = " + written(value->second) + '\n'
            : typical == others.end() ? "# " + field.key + " =\n"
                                      : '#' + field.key + " = " + written(typical->second) + '\n';
  }
  return text;
}

}  // namespace fourfold::inline schedule::inline models
