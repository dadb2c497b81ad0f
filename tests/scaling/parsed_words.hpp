// Words as they are typed after a verb.
#pragma once

#include <CLI/App.hpp>
#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace fourfold::tests {

// Of a line, between blanks.
inline void parse_words(CLI::App& app, const std::string& line) {
  std::istringstream text(line);
  std::vector<std::string> all{std::istream_iterator<std::string>(text), {}};
  std::ranges::reverse(all);  // as CLI11 wants them
  app.parse(all);
}

}  // namespace fourfold::tests
