// Tables of fields: what a value is called, may be and means, as data, so that command lines,
// files, records and help read one description.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace fourfold::inline support {

// Of something that the machine has at least 1 of; 64 bits count beyond.
inline constexpr std::int64_t most_of_anything = 1'000'000'000;

// What a field may be. A text says only to its own reader what it means.
struct WholeNumber {
  std::int64_t least = 1;  // 0 or 1
  std::int64_t most = most_of_anything;
  std::string reason = "";  // of the upper bound, as in "so that 64 bits count every byte"
};
struct RealNumber {
  double least = 0.0;
  double most = 1e12;
};
struct OneWord {
  std::vector<std::string> words;
};
struct OnOff {
  std::string word;  // in the list that the flag takes, if fields share it: "oar"; else on or off
};
struct FreeText {};
struct FreeTexts {};  // a list, or a flag that is given several times
using FieldKind = std::variant<WholeNumber, RealNumber, OneWord, OnOff, FreeText, FreeTexts>;

struct FieldFacts {
  std::string key;        // in files and records; a dot leads into a table: "overlap.all_reduce"
  std::string flag = "";  // "--in-flight-blocks"; on-off fields may share one; empty: none
  std::string help = "";  // one line, which neither the values nor the default are part of
  FieldKind kind{};       // whole numbers unless it is said
  bool numbers = false;   // other numbers are computed with it, not only faster or slower
  bool optional = false;  // a record may be without it, and then means the default
};

// A value in the form that all notations share, and several by key: what is not there is not said.
using FieldValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;
using FieldValues = std::map<std::string, FieldValue>;

// Why the first number out of its range is: "layers = 20000, but it must be at most 10000, as ...";
// empty if none is.
std::string out_of_range(const std::vector<FieldFacts>& fields, const FieldValues& values);

// The flags of a table, each once, in its order.
std::vector<std::string> flags_of(const std::vector<FieldFacts>& fields);
// The help of a flag with what it takes: "activation checkpointing: full or none".
std::string flag_help(const std::vector<FieldFacts>& fields, const std::string& flag);
// What a flag would say for these values: "2", "full", "oar,oag"; empty if they say nothing.
std::string flag_word(const std::vector<FieldFacts>& fields, const std::string& flag,
                      const FieldValues& values);
// The values that a flag says with these words, of which all but texts have one. Throws
// std::runtime_error: the flag, and the nearest word where it is not known.
FieldValues flag_values(const std::vector<FieldFacts>& fields, const std::string& flag,
                        const std::vector<std::string>& words);

template <typename T>
struct Field {
  FieldFacts facts;
  std::function<std::optional<FieldValue>(const T&)> get;  // none: there is nothing to say
  std::function<void(T&, const FieldValue&)> set;          // of a value that its kind allows
};

template <typename T>
class FieldTable {
 public:
  explicit FieldTable(std::vector<Field<T>> fields) : fields_(std::move(fields)) {
    for (const Field<T>& field : fields_) facts_.push_back(field.facts);
  }

  const std::vector<FieldFacts>& facts() const { return facts_; }

  FieldValues values(const T& object) const {
    FieldValues values;
    for (const Field<T>& field : fields_) {
      if (auto value = field.get(object)) values.emplace(field.facts.key, *std::move(value));
    }
    return values;
  }

  // Sets what is said and leaves the rest.
  void set(T& object, const FieldValues& values) const {
    for (const Field<T>& field : fields_) {
      const auto found = values.find(field.facts.key);
      if (found != values.end()) field.set(object, found->second);
    }
  }

  // With what a flag says, and what a flag would say.
  T with(T object, const std::string& flag, const std::string& word) const {
    set(object, flag_values(facts_, flag, {word}));
    return object;
  }
  std::string word(const T& object, const std::string& flag) const {
    return flag_word(facts_, flag, values(object));
  }

 private:
  std::vector<Field<T>> fields_;
  std::vector<FieldFacts> facts_;
};

// Fields at a place: a pointer to a member, or a function from an object to a reference.
template <typename T, typename Place>
Field<T> number_field(FieldFacts facts, WholeNumber range, Place place) {
  facts.kind = std::move(range);
  return {std::move(facts),
          [place](const T& object) -> std::optional<FieldValue> {
            return static_cast<std::int64_t>(std::invoke(place, object));
          },
          [place](T& object, const FieldValue& value) {
            std::invoke(place, object) = std::get<std::int64_t>(value);
          }};
}

template <typename T, typename Place>
Field<T> real_field(FieldFacts facts, RealNumber range, Place place) {
  facts.kind = range;
  return {
      std::move(facts),
      [place](const T& object) -> std::optional<FieldValue> { return std::invoke(place, object); },
      [place](T& object, const FieldValue& value) {
        std::invoke(place, object) = std::get<double>(value);
      }};
}

template <typename T, typename Place>
Field<T> on_off_field(FieldFacts facts, OnOff kind, Place place) {
  facts.kind = std::move(kind);
  return {std::move(facts),
          [place](const T& object) -> std::optional<FieldValue> {
            return static_cast<bool>(std::invoke(place, object));
          },
          [place](T& object, const FieldValue& value) {
            std::invoke(place, object) = std::get<bool>(value);
          }};
}

template <typename T, typename Place>
Field<T> text_field(FieldFacts facts, Place place) {
  facts.kind = FreeText{};
  return {
      std::move(facts),
      [place](const T& object) -> std::optional<FieldValue> { return std::invoke(place, object); },
      [place](T& object, const FieldValue& value) {
        std::invoke(place, object) = std::get<std::string>(value);
      }};
}

// One of `choices`, by what name(choice) calls it.
template <typename T, typename Choice, typename Place>
Field<T> word_field(FieldFacts facts, std::vector<Choice> choices, Place place) {
  OneWord kind;
  for (Choice choice : choices) kind.words.emplace_back(name(choice));
  facts.kind = kind;
  return {std::move(facts),
          [place](const T& object) -> std::optional<FieldValue> {
            return std::string(name(std::invoke(place, object)));
          },
          [place, choices, words = kind.words](T& object, const FieldValue& value) {
            const auto found = std::find(words.begin(), words.end(), std::get<std::string>(value));
            if (found == words.end()) throw std::invalid_argument(std::get<std::string>(value));
            std::invoke(place, object) = choices[static_cast<std::size_t>(found - words.begin())];
          }};
}

}  // namespace fourfold::inline support
