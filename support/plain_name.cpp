// Bytes below a blank, and few others, are not plain; see plain_name.hpp.
#include "support/plain_name.hpp"

#include <algorithm>

namespace fourfold::inline support {

namespace {

constexpr std::size_t most_bytes = 100;  // what is added to it still makes a name

bool is_control(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return byte < 0x20 || byte == 0x7f;
}

// A byte within a character of UTF-8, not its first.
bool continues(char letter) {
  return (static_cast<unsigned char>(letter) & 0xc0) == 0x80;
}

}  // namespace

std::string why_not_plain(const std::string& name) {
  if (name.empty()) return "it is empty";
  if (name.find('/') != std::string::npos) return "it has a '/'";
  if (std::ranges::any_of(name, is_control)) return "it has a control character";
  if (name.front() == '.') return "it begins with a dot";
  if (name.front() == '-') return "it begins with a dash";
  if (name.size() > most_bytes) return "it has more than " + std::to_string(most_bytes) + " bytes";
  return "";
}

std::string made_plain(const std::string& name) {
  std::string plain = name.empty() ? "_" : name;
  if (plain.size() > most_bytes) {
    std::size_t end = most_bytes;
    while (end > 0 && continues(plain[end])) --end;
    plain.resize(end);
  }
  for (char& letter : plain) {
    if (letter == '/' || is_control(letter)) letter = '_';
  }
  if (plain.front() == '.' || plain.front() == '-') plain.front() = '_';
  return plain;
}

}  // namespace fourfold::inline support
