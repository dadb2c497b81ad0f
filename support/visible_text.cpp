// Letter by letter; see visible_text.hpp.
#include "support/visible_text.hpp"

#include <cstdint>
#include <cstdio>

namespace fourfold::inline support {
namespace {

// A letter of UTF-8: its number and how many bytes it takes; 0 bytes where they are none.
struct Letter {
  std::uint32_t number = 0;
  std::size_t bytes = 0;
};

Letter letter_at(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + bytes > text.size()) return {};
  std::uint32_t number = first & (0xffu >> (bytes + 1));
  for (std::size_t i = at + 1; i < at + bytes; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return {};
    number = (number << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t least[]{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = number >= 0xd800 && number <= 0xdfff;
  if (number < least[bytes] || number > 0x10ffff || is_surrogate) return {};
  return {number, bytes};
}

bool may_be_shown(std::uint32_t letter) {
  if (letter == '\n' || letter == '\t') return true;
  const bool controls = letter < 0x20 || (letter >= 0x7f && letter < 0xa0);
  const bool turns = letter == 0x061c || letter == 0x200b || letter == 0x200e || letter == 0x200f ||
                     (letter >= 0x2028 && letter <= 0x202e) ||
                     (letter >= 0x2066 && letter <= 0x2069);
  return !controls && !turns;
}

// As JSON would write it, too, where JSON leaves it as it is.
std::string escaped(std::uint32_t letter) {
  char word[12];
  std::snprintf(word, sizeof word, letter < 0x20 ? "\\x%02x" : "\\u%04x",
                static_cast<unsigned>(letter));
  return word;
}

std::string escaped_byte(char byte) {
  char word[12];
  std::snprintf(word, sizeof word, "\\x%02x",
                static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return word;
}

}  // namespace

std::string visible(const std::string& text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = letter_at(text, at);
    if (letter.bytes == 0) {
      shown += escaped_byte(text[at]);
      ++at;
      continue;
    }
    if (may_be_shown(letter.number)) {
      shown.append(text, at, letter.bytes);
    } else {
      shown += escaped(letter.number);
    }
    at += letter.bytes;
  }
  return shown;
}

bool is_utf8(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const Letter letter = letter_at(text, at);
    if (letter.bytes == 0) return false;
    at += letter.bytes;
  }
  return true;
}

std::string visible_line(const std::string& text) {
  std::string line;
  for (const char letter : visible(text)) {
    if (letter == '\n') {
      line += "\\n";
    } else {
      line += letter;
    }
  }
  return line;
}

}  // namespace fourfold::inline support
