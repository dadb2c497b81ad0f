// Fields as the words of a command line; see field.hpp.
#include "support/field.hpp"

#include <charconv>
#include <sstream>

#include "support/nearest_name.hpp"

namespace fourfold::inline support {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

// The fields of one flag.
std::vector<FieldFacts> fields_of(const std::vector<FieldFacts>& fields, const std::string& flag) {
  std::vector<FieldFacts> found;
  for (const FieldFacts& field : fields) {
    if (field.flag == flag) found.push_back(field);
  }
  if (found.empty()) throw std::invalid_argument("no field has the flag " + flag);
  return found;
}

std::string joined(const std::vector<std::string>& words, const std::string& between,
                   const std::string& before_last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? before_last : between;
    text += words[i];
  }
  return text;
}

// Whether the flag is a list of what is on, and not one thing that is on or off.
bool is_list(const FieldFacts& field) {
  const auto* kind = std::get_if<OnOff>(&field.kind);
  return kind != nullptr && !kind->word.empty();
}

std::string known_word(const std::string& flag, const std::string& word,
                       const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return word;
  throw std::runtime_error("unknown " + flag + " '" + word + "'" + one_of_these(word, known));
}

std::vector<std::string> words_of_list(const std::vector<FieldFacts>& list) {
  std::vector<std::string> words;
  for (const FieldFacts& field : list) words.push_back(std::get<OnOff>(field.kind).word);
  return words;
}

FieldValues list_values(const std::vector<FieldFacts>& list, const std::string& flag,
                        const std::string& typed) {
  FieldValues values;
  for (const FieldFacts& field : list) values[field.key] = typed == "all";
  if (typed == "all" || typed == "none") return values;
  const std::vector<std::string> words = words_of_list(list);
  std::istringstream text(typed);
  for (std::string word; std::getline(text, word, ',');) {
    if (word == "all" || word == "none") {
      throw std::runtime_error(flag + " '" + typed + "': " + word +
                               " stands alone; write all, none, or some of " +
                               joined(words, ",", ","));
    }
    std::vector<std::string> known{"all", "none"};
    known.insert(known.end(), words.begin(), words.end());
    known_word(flag, word, known);
    const auto found = std::find(words.begin(), words.end(), word);
    values[list[static_cast<std::size_t>(found - words.begin())].key] = true;
  }
  return values;
}

std::string list_word(const std::vector<FieldFacts>& list, const FieldValues& values) {
  std::vector<std::string> on;
  bool said = false;
  for (const FieldFacts& field : list) {
    const auto value = values.find(field.key);
    if (value == values.end()) continue;
    said = true;
    if (std::get<bool>(value->second)) on.push_back(std::get<OnOff>(field.kind).word);
  }
  if (!said) return "";
  if (on.size() == list.size()) return "all";
  return on.empty() ? "none" : joined(on, ",", ",");
}

std::string list_help(const std::vector<FieldFacts>& list) {
  std::string text = "all, none, or some of " + joined(words_of_list(list), ",", ",") + ": ";
  for (const FieldFacts& field : list) {
    if (&field != &list.front()) text += "; ";
    text += std::get<OnOff>(field.kind).word + ", " + field.help;
  }
  return text;
}

std::int64_t whole_number_in(const FieldFacts& field, const std::string& word) {
  const auto& range = std::get<WholeNumber>(field.kind);
  std::int64_t number = 0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < range.least ||
      number > range.most) {
    throw std::runtime_error(field.flag + ": '" + word + "' is no whole number from " +
                             std::to_string(range.least) + " to " + std::to_string(range.most));
  }
  return number;
}

// As short as it can be read back.
std::string shortest(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number);
  return {text, end.ptr};
}

double real_number_in(const FieldFacts& field, const std::string& word) {
  const auto& range = std::get<RealNumber>(field.kind);
  double number = 0.0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(number >= range.least) ||
      !(number <= range.most)) {
    throw std::runtime_error(field.flag + ": '" + word + "' is no number from " +
                             shortest(range.least) + " to " + shortest(range.most));
  }
  return number;
}

// The same of a real number.
std::string out_of(const FieldFacts& field, const RealNumber& range, double number) {
  if (number >= range.least && number <= range.most) return "";
  const bool below = !(number >= range.least);
  return field.key + " = " + shortest(number) + ", but it must be at " +
         (below ? "least " + shortest(range.least) : "most " + shortest(range.most));
}

}  // namespace

std::string out_of_range(const std::vector<FieldFacts>& fields, const FieldValues& values) {
  for (const FieldFacts& field : fields) {
    const auto found = values.find(field.key);
    if (found == values.end()) continue;
    if (const auto* real = std::get_if<RealNumber>(&field.kind)) {
      const std::string why = out_of(field, *real, std::get<double>(found->second));
      if (!why.empty()) return why;
    }
    const auto* range = std::get_if<WholeNumber>(&field.kind);
    if (range == nullptr) continue;
    const std::int64_t number = std::get<std::int64_t>(found->second);
    if (number >= range->least && number <= range->most) continue;
    const std::string start = field.key + " = " + std::to_string(number) + ", but it must be at ";
    if (number < range->least) return start + "least " + std::to_string(range->least);
    return start + "most " + std::to_string(range->most) +
           (range->reason.empty() ? "" : ", " + range->reason);
  }
  return "";
}

std::vector<std::string> flags_of(const std::vector<FieldFacts>& fields) {
  std::vector<std::string> flags;
  for (const FieldFacts& field : fields) {
    if (field.flag.empty()) continue;
    if (flags.empty() || flags.back() != field.flag) flags.push_back(field.flag);
  }
  return flags;
}

std::string flag_help(const std::vector<FieldFacts>& fields, const std::string& flag) {
  const std::vector<FieldFacts> own = fields_of(fields, flag);
  const FieldFacts& first = own.front();
  if (is_list(first)) return list_help(own);
  if (std::holds_alternative<OnOff>(first.kind)) return first.help + ": on or off";
  const auto* one = std::get_if<OneWord>(&first.kind);
  return one == nullptr ? first.help : first.help + ": " + joined(one->words, ", ", " or ");
}

std::string flag_word(const std::vector<FieldFacts>& fields, const std::string& flag,
                      const FieldValues& values) {
  const std::vector<FieldFacts> own = fields_of(fields, flag);
  if (is_list(own.front())) return list_word(own, values);
  const auto found = values.find(own.front().key);
  if (found == values.end()) return "";
  return std::visit(
      Overloaded{[](bool on) { return std::string(on ? "on" : "off"); },
                 [](std::int64_t number) { return std::to_string(number); },
                 [](double number) { return shortest(number); },
                 [](const std::string& text) { return text; },
                 [](const std::vector<std::string>& texts) { return joined(texts, " ", " "); }},
      found->second);
}

FieldValues flag_values(const std::vector<FieldFacts>& fields, const std::string& flag,
                        const std::vector<std::string>& words) {
  const std::vector<FieldFacts> own = fields_of(fields, flag);
  const FieldFacts& field = own.front();
  return std::visit(
      Overloaded{[&](const WholeNumber&) -> FieldValues {
                   return {{field.key, whole_number_in(field, words.back())}};
                 },
                 [&](const RealNumber&) -> FieldValues {
                   return {{field.key, real_number_in(field, words.back())}};
                 },
                 [&](const OneWord& one) -> FieldValues {
                   return {{field.key, known_word(flag, words.back(), one.words)}};
                 },
                 [&](const OnOff&) -> FieldValues {
                   if (is_list(field)) return list_values(own, flag, words.back());
                   return {{field.key, known_word(flag, words.back(), {"on", "off"}) == "on"}};
                 },
                 [&](const FreeText&) -> FieldValues {
                   return {{field.key, words.back()}};
                 },
                 [&](const FreeTexts&) -> FieldValues {
                   return {{field.key, words}};
                 }},
      field.kind);
}

}  // namespace fourfold::inline support
