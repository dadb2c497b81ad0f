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
  return letter == '_' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

bool is_digit(char letter) {
  return std::isdigit(static_cast<unsigned char>(letter)) != 0;
}

// "34.12" and "34,120" are a run as "34" is: clocks leave out what is 0.
bool is_in_number(std::string_view text, std::size_t at) {
  return (text[at] == '.' || text[at] == ',') && at > 0 && at + 1 < text.size() &&
         is_digit(text[at - 1]) && is_digit(text[at + 1]);
}

// The end of the run of letters and digits, or of blanks, that begins at `at`; of a sign, the sign.
std::size_t end_of_run(std::string_view text, std::size_t at) {
  if (is_word(text[at])) {
    while (at < text.size() && (is_word(text[at]) || is_in_number(text, at))) ++at;
    return at;
  }
  if (!is_blank(text[at])) return at + 1;
  while (at < text.size() && is_blank(text[at])) ++at;
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

std::string without_colours(std::string line) {
  for (std::size_t at = line.find("\x1b["); at != std::string::npos; at = line.find("\x1b[", at)) {
    std::size_t end = at + 2;
    while (end < line.size() && (line[end] < '@' || line[end] > '~')) ++end;
    line.erase(at, end + 1 - at);
  }
  return line;
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
