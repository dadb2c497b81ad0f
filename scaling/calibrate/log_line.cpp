// Shapes of prefixes and names of columns; see log_line.hpp.
#include "scaling/calibrate/log_line.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <sstream>

namespace fourfold::inline scaling::inline calibrate {
namespace {

bool is_blank(char letter) {
  return letter == ' ' || letter == '\t';
}

bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

// The end of the run of letters and digits, or of blanks, that begins at `at`; of a sign, the sign.
std::size_t end_of_run(std::string_view text, std::size_t at) {
  bool (*const alike)(char) = is_word(text[at]) ? is_word : is_blank(text[at]) ? is_blank : nullptr;
  if (alike == nullptr) return at + 1;
  while (at < text.size() && alike(text[at])) ++at;
  return at;
}

}  // namespace

LogWords words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  LogWords words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<double> number_in(const std::string& word) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

bool is_count(const std::string& word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

LinePrefix::LinePrefix(std::string_view before) {
  for (std::size_t at = 0; at < before.size(); at = end_of_run(before, at)) {
    if (!is_blank(before[at])) shape_ += is_word(before[at]) ? 'a' : before[at];
  }
}

std::string_view LinePrefix::behind(std::string_view line) const {
  std::size_t at = 0;
  for (const char expected : shape_) {
    while (at < line.size() && is_blank(line[at])) ++at;
    const bool fits =
        at < line.size() && (expected == 'a' ? is_word(line[at]) : line[at] == expected);
    if (!fits) return line;
    at = end_of_run(line, at);
  }
  return line.substr(at);
}

LogWords column_names(std::string_view header) {
  constexpr std::array alone{"Size", "Iterations", "Validation", "MB/s", "Messages/s"};
  LogWords names;
  std::string name;
  for (const std::string& word : words_of(header)) {
    name += name.empty() ? word : ' ' + word;
    if (name.ends_with(')') || std::ranges::find(alone, name) != alone.end()) {
      names.push_back(name);
      name.clear();
    }
  }
  if (!name.empty()) names.push_back(name);
  return names;
}

}  // namespace fourfold::inline scaling::inline calibrate
