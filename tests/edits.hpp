// Every entry of a file edited, one at a time, and what is said to each: for golden texts that hold
// the sentence of every wrong entry.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/refusal.hpp"

namespace fourfold::edits {

// A file as a tree, and the sentence that it gets; "accepted" without one.
using Tree = nlohmann::json;
using Said = std::function<std::string(const Tree&)>;

// The sentence that the call is refused with, `name` in the place of each `path`.
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
};

inline Edit put(const std::string& name, Tree value) {
  return {name, [value = std::move(value)](Tree& entry) { entry = value; }};
}

inline std::vector<Edit> edits_of_a_number(const Tree& number) {
  std::vector<Edit> edits{put("text", "many"), put("true", true), put("0", 0)};
  if (number.is_number_integer()) {
    const auto value = number.get<std::int64_t>();
    edits.push_back(put("negative", value == 0 ? -1 : -value));
    edits.push_back(put("one more", value + 1));
    edits.push_back(put("one less", value - 1));
    edits.push_back(put("ten times", value * 10));
    edits.push_back(put("a half more", static_cast<double>(value) + 0.5));
    edits.push_back(put("huge", std::int64_t{1} << 62));
  } else {
    const auto value = number.get<double>();
    edits.push_back(put("negative", value == 0.0 ? -1.0 : -value));
    edits.push_back(put("ten times", value * 10.0));
    edits.push_back(put("a tenth", value / 10.0));
    edits.push_back(put("huge", 1e300));
    edits.push_back(put("no number", std::numeric_limits<double>::quiet_NaN()));
  }
  return edits;
}

inline std::vector<Edit> edits_of(const Tree& entry) {
  if (entry.is_number()) return edits_of_a_number(entry);
  if (entry.is_boolean()) return {put("the contrary", !entry.get<bool>()), put("a number", 3)};
  if (entry.is_string()) {
    const auto text = entry.get<std::string>();
    return {put("empty", ""), put("a number", 3),
            put("misspelled", text.substr(0, text.empty() ? 0 : text.size() - 1) + "q")};
  }
  std::vector<Edit> edits{put("text", "many")};
  if (entry.is_array() && entry.empty()) return edits;
  if (entry.is_array()) {
    edits.push_back(put("empty", Tree::array()));
    edits.push_back({"without the first", [](Tree& list) { list.erase(0); }});
    edits.push_back({"the last twice", [](Tree& list) { list.push_back(list.back()); }});
    edits.push_back({"in reverse", [](Tree& list) { std::reverse(list.begin(), list.end()); }});
  } else {
    edits.push_back({"with a strange key", [](Tree& table) { table["strange"] = 1; }});
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

// A line for each entry of the table `below`, or of all, and one for each sentence that edits of it
// get.
inline std::string said_to_edits(const Tree& tree, const Said& said,
                                 const std::string& below = "") {
  std::vector<Tree::json_pointer> places;
  add_places(tree, Tree::json_pointer(below), places);
  std::string text;
  for (const Tree::json_pointer& place : places) {
    std::vector<std::pair<std::string, std::string>> answers;  // names of edits by sentence
    const auto add = [&](const std::string& name, const Tree& edited) {
      const std::string sentence = said(edited);
      const auto same =
          std::ranges::find(answers, sentence, &std::pair<std::string, std::string>::second);
      if (same == answers.end()) {
        answers.emplace_back(name, sentence);
      } else {
        same->first += ", " + name;
      }
    };
    if (!place.empty()) {
      Tree edited = tree;
      Tree& parent = edited[place.parent_pointer()];
      if (parent.is_object()) {
        parent.erase(place.back());
        add("left out", edited);
      }
    }
    for (const Edit& edit : edits_of(tree[place])) {
      Tree edited = tree;
      if (place.empty() && edit.name == "text") continue;
      edit.apply(edited[place]);
      if (edited != tree) add(edit.name, edited);
    }
    text += (place.empty() ? "the file" : place.to_string()) + "\n";
    for (const auto& [names, sentence] : answers) text += "  " + names + ": " + sentence + "\n";
  }
  return text;
}

}  // namespace fourfold::edits
