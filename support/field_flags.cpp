// One option a flag; see field_flags.hpp.
#include "support/field_flags.hpp"

#include <CLI/App.hpp>

#include "support/flag_checks.hpp"

namespace fourfold::inline support {
namespace {

// The kind of a flag's field, or of its first.
const FieldKind& kind_of(const std::vector<FieldFacts>& fields, const std::string& flag) {
  return std::find_if(fields.begin(), fields.end(),
                      [&](const FieldFacts& field) { return field.flag == flag; })
      ->kind;
}

}  // namespace

void add_field_flags(CLI::App& verb, const std::string& title,
                     const std::vector<FieldFacts>& fields, const FieldValues& usual,
                     FieldValues& typed) {
  for (const std::string& flag : flags_of(fields)) {
    const FieldKind& kind = kind_of(fields, flag);
    const auto take = [fields, flag, &typed](const std::vector<std::string>& words) {
      for (const auto& [key, value] : flag_values(fields, flag, words)) typed[key] = value;
    };
    const auto take_one = [take](const std::string& word) { take({word}); };
    const std::string help = flag_help(fields, flag);
    CLI::Option* option = std::holds_alternative<FreeTexts>(kind)
                              ? verb.add_option_function<std::vector<std::string>>(flag, take, help)
                              : verb.add_option_function<std::string>(flag, take_one, help);
    option->group(title)->default_str(flag_word(fields, flag, usual));
    const auto* range = std::get_if<WholeNumber>(&kind);
    option->check(range == nullptr ? some_word() : whole_number(range->least, range->most));
    if (range != nullptr) option->type_name("INT");
  }
}

}  // namespace fourfold::inline support
