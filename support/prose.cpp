// Blanks into line ends, and plurals; see prose.hpp.
#include "support/prose.hpp"

#include <algorithm>

namespace fourfold::inline support {

std::string wrapped(const std::string& text, std::size_t width) {
  std::string result = text;
  std::size_t line = 0;  // where the current line begins
  while (line < result.size()) {
    const std::size_t end = std::min(result.find('\n', line), result.size());
    if (end - line <= width) {
      line = end + 1;
      continue;
    }
    std::size_t blank = result.rfind(' ', line + width);
    if (blank == std::string::npos || blank <= line) blank = result.find(' ', line + width);
    if (blank == std::string::npos || blank > end) {
      line = end + 1;
      continue;
    }
    result[blank] = '\n';
    line = blank + 1;
  }
  return result;
}

std::string hanging(const std::string& text, std::size_t indent, std::size_t width) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    while (line.size() > width) {
      const std::size_t blank = line.rfind(' ', width);
      if (blank == std::string::npos || blank <= indent) break;
      result += line.substr(0, blank) + '\n';
      line = std::string(indent, ' ') + line.substr(blank + 1);
    }
    result += line + '\n';
    begin = end + 1;
  }
  return result;
}

std::string counted(std::int64_t number, const std::string& noun) {
  const std::string ending = number == 1 ? "" : noun.ends_with("ch") ? "es" : "s";
  return std::to_string(number) + ' ' + noun + ending;
}

}  // namespace fourfold::inline support
