// A good file edited at random: values of another type, absurd numbers, hostile texts, entries that
// are gone, doubled, nested or misplaced, bytes that are cut off or added. For the law that every
// reader ends each of them in success or in one sentence of ours.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/json_text.hpp"
#include "support/random.hpp"
#include "tests/edits.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests::edits {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t limit) {
    return static_cast<std::size_t>(random_at(seed_, 0, place_++) % limit);
  }
  template <typename T, std::size_t n>
  const T& one_of(const std::array<T, n>& all) {
    return all[below(n)];
  }

 private:
  std::uint64_t seed_, place_ = 0;
};

inline Tree absurd_number(Draw& draw) {
  using Integer = std::numeric_limits<std::int64_t>;
  using Real = std::numeric_limits<double>;
  static const std::array<Tree, 18> all{0,
                                        -1,
                                        Integer::max(),
                                        Integer::min(),
                                        std::numeric_limits<std::uint64_t>::max(),
                                        1e300,
                                        -1e300,
                                        1e-300,
                                        Real::quiet_NaN(),
                                        Real::infinity(),
                                        4'000'000'000'000'000'000,
                                        std::int64_t{1} << 32,
                                        std::int64_t{1} << 31,
                                        (std::int64_t{1} << 53) + 1,
                                        1'000'000'000,
                                        0.5,
                                        -0.0,
                                        1'000'000};
  return draw.one_of(all);
}

inline std::string hostile_text(Draw& draw) {
  const std::array<std::string, 16> all{"",
                                        "\x1b]0;owned\x07",
                                        "a\nb",
                                        "\r\x1b[2K",
                                        "../../../etc/passwd",
                                        "/dev/zero",
                                        "$(touch X)",
                                        "'; rm X; '",
                                        "%s%n%d",
                                        "-1",
                                        "nan",
                                        "99999999999999999999",
                                        "<script>",
                                        "\xe2\x80\xae\xf0\x9f\x92\xa3",
                                        std::string(300, 'x'),
                                        std::string("a\0b", 3)};
  return draw.one_of(all);
}

inline Tree nested(Draw& draw, const Tree& inner) {
  Tree value = inner;
  const std::size_t depth = draw.below(4) == 0 ? 300 : 3;
  for (std::size_t i = 0; i < depth; ++i) {
    Tree around = draw.below(2) == 0 ? Tree::array() : Tree::object();
    (around.is_array() ? around.emplace_back(nullptr) : around["a"]).swap(value);
    value.swap(around);
  }
  return value;
}

// One edit of one entry.
inline void edit_once(Tree& tree, Draw& draw) {
  std::vector<Tree::json_pointer> places;
  add_places(tree, Tree::json_pointer(), places);
  const Tree::json_pointer place = places[draw.below(places.size())];
  if (place.empty()) return;
  const Tree other = tree[places[draw.below(places.size())]];
  Tree& parent = tree[place.parent_pointer()];
  Tree& entry = tree[place];
  switch (draw.below(8)) {
    case 0:
    case 1:
      entry = absurd_number(draw);
      break;
    case 2:
      entry = hostile_text(draw);
      break;
    case 3:
      if (parent.is_object()) parent.erase(place.back());
      break;
    case 4:
      entry = nested(draw, entry);
      break;
    case 5:
      entry = other;
      break;
    case 6:
      if (entry.is_array()) {
        for (int i = 0; i < 3 && !entry.empty(); ++i) entry.push_back(entry.front());
      } else if (parent.is_object()) {
        parent[hostile_text(draw)] = Tree(entry);
      }
      break;
    default:
      entry = draw.one_of(std::array<Tree, 6>{Tree(true), Tree(nullptr), Tree::array(),
                                              Tree::object(), Tree("many"), Tree(1.5)});
  }
}

// One edit of the bytes.
inline std::string with_edited_bytes(std::string text, Draw& draw) {
  if (text.empty()) return text;
  const std::size_t at = draw.below(text.size());
  switch (draw.below(7)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text.insert(at, hostile_text(draw));
      break;
    case 2:
      text.insert(at, std::string(200'000, "[{(\"="[draw.below(5)]));
      break;
    case 3:
      text[at] = static_cast<char>(draw.below(256));
      break;
    case 4:
      text.insert(at, text.substr(at, 1 + draw.below(200)));
      break;
    case 5:
      text.erase(at, 1 + draw.below(50));
      break;
    default:
      text.insert(at, "\xff\xfe\x00");
  }
  return text;
}

// Why a sentence is none that a person should get; empty if it is fit.
inline std::string unfit(const std::string& sentence) {
  if (sentence.empty()) return "is empty";
  for (const char* mark :
       {"json.exception", "filesystem error", "std::", "basic_string", "vector::", "map::at",
        "bad_", "bad optional", "_M_", "stoi", "stol", "stod", "stoull", "regex", "what():"}) {
    if (sentence.find(mark) != std::string::npos) return fmt::format("says {}", mark);
  }
  return "";
}

// A reader, a good file as a tree and how it is written down.
struct EditedReader {
  std::string name;
  Tree good;
  std::function<std::string(const Tree&)> text;
  std::function<void(const std::string& text)> read;
};

// What reading the text ends in that it should not; empty if nothing.
inline std::string misreading(const EditedReader& reader, const std::string& text) {
  const std::clock_t start = std::clock();
  std::string why;
  try {
    reader.read(text);
  } catch (const std::exception& error) {
    const bool refused = dynamic_cast<const std::runtime_error*>(&error) != nullptr ||
                         dynamic_cast<const std::invalid_argument*>(&error) != nullptr;
    why = refused ? unfit(error.what()) : "is no refusal";
    if (!why.empty()) why += std::string(": ") + error.what();
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (why.empty() && seconds > 5.0) why = fmt::format("takes {:.1f} s", seconds);
  return why;
}

// Holds the law for that many edits, of which a quarter is of bytes.
inline void expect_sentences(const EditedReader& reader, std::size_t edits = 1000) {
  ASSERT_EQ(refusal<std::exception>([&] { reader.read(reader.text(reader.good)); }), "accepted")
      << reader.name;
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= edits && failures < 5; ++seed) {
    Draw draw(seed);
    Tree edited = reader.good;
    for (std::size_t i = 1 + draw.below(2); i > 0; --i) edit_once(edited, draw);
    std::string text = reader.text(edited);
    if (seed % 4 == 0) text = with_edited_bytes(reader.text(reader.good), draw);
    const std::string why = misreading(reader, text);
    if (why.empty()) continue;
    ++failures;
    ADD_FAILURE() << reader.name << ", edit " << seed << ", " << why << "\nof\n"
                  << Tree::diff(reader.good, edited)
                         .dump(-1, ' ', true, Tree::error_handler_t::replace)
                         .substr(0, 400);
  }
}

}  // namespace fourfold::tests::edits
