// Single quotes keep everything but themselves; see shell_word.hpp.
#include "support/shell_word.hpp"

namespace fourfold::inline support {

std::string shell_word(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  }
  return quoted + "'";
}

std::string shell_argument(const std::string& text) {
  const std::string safe = text.starts_with('-') ? "./" + text : text;
  const bool plain = !safe.empty() && safe.find_first_not_of(plain_letters) == std::string::npos;
  return plain ? safe : shell_word(safe);
}

}  // namespace fourfold::inline support
