// Laws of readers: every entry of a good file is edited, one at a time, in all ways that people get
// entries wrong. What looks wrong whatever the entry means is refused, in one sentence that names
// the file and the entry; what is taken changes the value that is read.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "tests/refusal.hpp"

namespace fourfold::tests::edits {

using Tree = nlohmann::json;

// The sentence that the call is refused with, `name` in the place of each `path`; "accepted".
inline std::string heard(const std::function<void()>& call, const std::string& path,
                         const std::string& name) {
  std::string sentence = refusal<std::exception>(call);
  for (std::size_t at = sentence.find(path); at != std::string::npos;
       at = sentence.find(path, at + name.size())) {
    sentence.replace(at, path.size(), name);
  }
  return sentence;
}

struct Edit {
  std::string name;
  std::function<void(Tree& entry)> apply;
  bool looks_wrong = false;  // to whoever knows no more than what kind of entry it is
};

inline Edit put(const std::string& name, Tree value) {
  return {name, [value = std::move(value)](Tree& entry) { entry = value; }};
}

inline Edit put_wrong(const std::string& name, Tree value) {
  return {name, [value = std::move(value)](Tree& entry) { entry = value; }, true};
}

inline std::vector<Edit> edits_of_a_number(const Tree& number) {
  std::vector<Edit> edits{put_wrong("text", "many"), put_wrong("true", true), put("0", 0)};
  if (number.is_number_integer()) {
    const auto value = number.get<std::int64_t>();
    edits.push_back(put_wrong("negative", value == 0 ? -1 : -value));
    edits.push_back(put("one more", value + 1));
    edits.push_back(put("one less", value - 1));
    edits.push_back(put("ten times", value * 10));
    edits.push_back(put("a half more", static_cast<double>(value) + 0.5));
    edits.push_back(put_wrong("huge", std::int64_t{1} << 62));
  } else {
    const auto value = number.get<double>();
    edits.push_back(put_wrong("negative", value == 0.0 ? -1.0 : -value));
    edits.push_back(put("ten times", value * 10.0));
    edits.push_back(put("a tenth", value / 10.0));
    edits.push_back(put_wrong("huge", 1e300));
    edits.push_back(put_wrong("no number", std::numeric_limits<double>::quiet_NaN()));
  }
  return edits;
}

inline std::vector<Edit> edits_of(const Tree& entry) {
  if (entry.is_null()) return {};
  if (entry.is_number()) return edits_of_a_number(entry);
  if (entry.is_boolean()) {
    return {put("the contrary", !entry.get<bool>()), put_wrong("a number", 3)};
  }
  if (entry.is_string()) {
    const auto text = entry.get<std::string>();
    return {put_wrong("empty", ""), put_wrong("a number", 3),
            put("misspelled", text.substr(0, text.empty() ? 0 : text.size() - 1) + "q")};
  }
  std::vector<Edit> edits{put_wrong("text", "many")};
  if (entry.is_array() && entry.empty()) return edits;
  if (entry.is_array()) {
    edits.push_back(put_wrong("empty", Tree::array()));
    edits.push_back({"without the first", [](Tree& list) { list.erase(0); }});
    edits.push_back({"the last twice", [](Tree& list) { list.push_back(list.back()); }});
    edits.push_back({"in reverse", [](Tree& list) { std::reverse(list.begin(), list.end()); }});
  } else {
    edits.push_back({"with a strange key", [](Tree& table) { table["strange"] = 1; }, true});
  }
  return edits;
}

// All entries below `place`, the first and the last one of a list.
inline void add_places(const Tree& tree, const Tree::json_pointer& place,
                       std::vector<Tree::json_pointer>& all) {
  const Tree& entry = tree[place];
  all.push_back(place);
  if (entry.is_object()) {
    for (const auto& item : entry.items()) add_places(tree, place / item.key(), all);
  }
  if (!entry.is_array() || entry.empty()) return;
  add_places(tree, place / 0, all);
  if (entry.size() > 1) add_places(tree, place / (entry.size() - 1), all);
}

// Sentences that differ in more than numbers, names of entries and what is quoted, each once.
class Sentences {
 public:
  void add(const std::string& sentence) {
    static const std::vector<std::pair<std::regex, std::string>> alike{
        {std::regex("[;?.] [Dd]id you mean \"[^\"]*\"\\??"), ""},
        {std::regex("\"[^\"]*\"|'[^']*'"), "Q"},
        {std::regex("column \\S+"), "column K"},
        {std::regex("[a-z_]+ = "), "K = "},
        {std::regex("(is one of|are the same:|a point of) .*"), "L"},
        {std::regex("(\\w+[.])+\\w+"), "K"},
        {std::regex("[\\w-]*\\d[\\w.+-]*"), "N"},
        {std::regex("N(, N| N|, [-\\w]+)+"), "N"}};
    std::string form = sentence;
    for (const auto& [what, as] : alike) form = std::regex_replace(form, what, as);
    all_.emplace(form, sentence);
  }
  std::string text() const {
    std::string lines;
    for (const auto& [form, sentence] : all_) lines += sentence + "\n";
    return lines;
  }

 private:
  std::map<std::string, std::string> all_;  // by form
};

// A good file, the text of the value that is read of one, and what is known of its entries. The
// exceptions are regular expressions of "EDIT PLACE", such as "left out /options/.*".
struct Reader {
  std::string file;  // that each sentence names
  Tree good;
  std::function<std::string(const Tree& file)> value;  // throws what the reader throws
  std::vector<std::string> taken = {};                 // though they look wrong
  std::vector<std::string> idle = {};                  // taken, and the value stays what it was
  bool names_entries = true;                           // in what is said of entries that look wrong
};

inline bool is_one_of(const std::vector<std::string>& exceptions, const std::string& edit) {
  return std::ranges::any_of(
      exceptions, [&](const std::string& one) { return std::regex_match(edit, std::regex(one)); });
}

// The last keys of a place, without numbers of entries.
inline std::vector<std::string> keys_of(Tree::json_pointer place) {
  std::vector<std::string> keys;
  for (; !place.empty() && keys.size() < 6; place.pop_back()) {
    const std::string& key = place.back();
    if (key.find_first_not_of("0123456789") == std::string::npos) continue;
    keys.push_back(key);
    std::string flag = key;  // as the command line says it
    std::ranges::replace(flag, '_', '-');
    keys.push_back(flag);
  }
  return keys;
}

// Adds what is said to the sentences. Edits all entries, or those below a place.
inline void expect_sound(const Reader& reader, Sentences& sentences,
                         const std::string& below = "") {
  SCOPED_TRACE(reader.file);
  const std::string usual = reader.value(reader.good);
  const auto look_at = [&](const Tree::json_pointer& place, const Edit& edit, const Tree& edited) {
    const std::string words = edit.name + " " + (place.empty() ? "the file" : place.to_string());
    std::string value;
    try {
      value = reader.value(edited);
    } catch (const std::exception& error) {
      const std::string sentence = error.what();
      sentences.add(sentence);
      EXPECT_EQ(sentence.find('\n'), std::string::npos) << words << ": " << sentence;
      EXPECT_NE(sentence.find(reader.file), std::string::npos) << words << ": " << sentence;
      const auto says = [&](const std::string& what) {
        return sentence.find(what) != std::string::npos;
      };
      std::vector<std::string> keys = keys_of(place);
      if (edit.name == "with a strange key") keys = {"strange", "damaged"};
      if (edit.name == "text") keys.insert(keys.end(), {"many", "not text", "no JSON object"});
      if (edit.name == "a number") keys.push_back("must be a text");
      const bool kind = edit.name == "text" || edit.name == "true" || edit.name == "a number" ||
                        edit.name == "with a strange key";
      EXPECT_TRUE(!reader.names_entries || !kind || keys.empty() || std::ranges::any_of(keys, says))
          << words << ": " << sentence;
      return;
    }
    EXPECT_TRUE(!edit.looks_wrong || is_one_of(reader.taken, words)) << words << " is taken";
    EXPECT_TRUE(value != usual || is_one_of(reader.idle, words)) << words << " changes nothing";
  };
  std::vector<Tree::json_pointer> places;
  add_places(reader.good, Tree::json_pointer(below), places);
  for (const Tree::json_pointer& place : places) {
    if (!place.empty()) {
      Tree edited = reader.good;
      Tree& parent = edited[place.parent_pointer()];
      if (parent.is_object()) {
        parent.erase(place.back());
        look_at(place, {"left out", {}, true}, edited);
      }
    }
    for (const Edit& edit : edits_of(reader.good[place])) {
      if (place.empty() && edit.name == "text") continue;
      Tree edited = reader.good;
      edit.apply(edited[place]);
      if (edited != reader.good) look_at(place, edit, edited);
    }
  }
}

}  // namespace fourfold::tests::edits
