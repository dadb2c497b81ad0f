// A line of a log without what launchers, schedulers and containers put before it: ranks' labels
// ("3: ", "[3] ", "[1,3]<stdout>: "), time stamps, names of hosts and pods.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fourfold::inline scaling::inline calibrate {

using LogWords = std::vector<std::string>;

LogWords words_of(std::string_view text);
// Finite, and all of the word.
std::optional<double> number_in(const std::string& word);
std::string lower_case(std::string text);
// Digits alone.
bool is_count(const std::string& word);

// Without what colours the names of containers: "ESC[36mlauncher-0 | ESC[0m".
std::string without_colours(std::string line);

// What stands before the columns of a table stands before its rows as well, in other digits and
// letters: "2026-11-25T19:47:34.12Z " is of the shape of "2026-11-25T19:48:01.7Z ".
class LinePrefix {
 public:
  LinePrefix() = default;
  explicit LinePrefix(std::string_view before);

  // The line behind such a prefix, or the whole line where it has none.
  std::string_view behind(std::string_view line) const;

 private:
  std::string shape_;  // 'a' for letters and digits in a row, signs as they are
};

// The names of columns, such as "Size", "Pure Comm.(us)", "Latency (us)": one that does not stand
// for itself ends with its unit in brackets.
LogWords column_names(std::string_view header);

}  // namespace fourfold::inline scaling::inline calibrate
