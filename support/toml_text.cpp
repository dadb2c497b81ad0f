// Counts dots between the letters of keys; see toml_text.hpp.
#include "support/toml_text.hpp"

#include <cctype>
#include <stdexcept>

#include "support/text_file.hpp"
#include "support/visible_text.hpp"
#include "support/whole_file.hpp"

namespace fourfold::inline support {
namespace {

bool is_of_key(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-' ||
         letter == '"' || letter == '\'';
}

}  // namespace

std::string read_toml_text(const std::string& path, const std::string& what) {
  std::string text = read_text_file(path, what);
  int line = 1, parts = 0;
  char before = '\n';  // the last letter that is no blank
  bool blank = false;  // since then
  for (char letter : text) {
    if (letter == '\n') ++line;
    if (letter == ' ' || letter == '\t') {
      blank = true;
      continue;
    }
    const bool dot = letter == '.' && is_of_key(before);
    const bool next_word = blank && is_of_key(before);  // of a sentence: keys have dots between
    if (!dot && (!is_of_key(letter) || next_word)) parts = 0;
    if (dot && ++parts >= most_key_parts) {
      throw std::runtime_error(path + ", line " + std::to_string(line) + ": a key has more than " +
                               std::to_string(most_key_parts) + " parts between dots");
    }
    before = letter;
    blank = false;
  }
  return text;
}

std::string toml_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char letter : visible(text)) {
    if (letter == '"' || letter == '\\') quoted += '\\';
    if (letter == '\n') {
      quoted += "\\n";
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

}  // namespace fourfold::inline support
