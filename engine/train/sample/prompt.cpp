// Text as bytes, tokens as numbers; see prompt.hpp.
#include "engine/train/sample/prompt.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace fourfold::inline engine::inline train::inline sample {

namespace {

std::int32_t checked(std::int64_t word, const std::string& what, std::int64_t vocabulary) {
  if (word < 0 || word >= vocabulary) {
    throw std::runtime_error(what + " has word " + std::to_string(word) +
                             ", which is outside the model's vocabulary of " +
                             std::to_string(vocabulary));
  }
  return static_cast<std::int32_t>(word);
}

std::int64_t number(const std::string& text, const std::string& what) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    throw std::runtime_error(what + " '" + text +
                             "' is no number; a model of token shards takes numbers of tokens "
                             "between blanks, such as '464 2068'");
  }
  return value;
}

// What people have typed, and what it is called.
struct TypedText {
  std::string what, text;
};

std::vector<std::int32_t> words_of(const TypedText& typed, TokenFormat format,
                                   std::int64_t vocabulary) {
  std::vector<std::int32_t> words;
  if (format == TokenFormat::text) {
    for (unsigned char byte : typed.text) words.push_back(checked(byte, typed.what, vocabulary));
    return words;
  }
  std::istringstream list(typed.text);
  for (std::string word; list >> word;) {
    words.push_back(checked(number(word, typed.what), typed.what, vocabulary));
  }
  return words;
}

// Bytes of a UTF-8 letter that starts with this one; 0 if it starts none of several bytes.
std::size_t promised_length(unsigned char first) {
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  return first >= 0xF0 && first <= 0xF4 ? 4 : 0;
}

// The second byte of a letter: overlong forms, halves of surrogate pairs and what lies beyond
// U+10FFFF are no letters (RFC 3629, section 4).
bool may_follow(unsigned char first, unsigned char second) {
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return second >= least && second <= most;
}

// Length of the UTF-8 letter that starts at `i`, or 0 if none does.
std::size_t letter_length(const std::string& text, std::size_t i) {
  const std::size_t length = promised_length(static_cast<unsigned char>(text[i]));
  if (length == 0 || i + length > text.size()) return 0;
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
  if (!may_follow(byte(0), byte(1))) return 0;
  for (std::size_t k = 2; k < length; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// A vocabulary may have words that are no bytes: a padding, or what ends a text.
bool is_byte(std::int32_t word) {
  return word >= 0 && word <= 0xFF;
}

std::string readable_bytes(const std::string& bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size();) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const std::size_t length = letter_length(bytes, i);
    if (length > 0) {
      text += bytes.substr(i, length);
      i += length;
      continue;
    }
    const bool plain = byte == '\n' || byte == '\t' || (byte >= 0x20 && byte < 0x7F);
    text += plain ? std::string(1, bytes[i]) : std::string("\xEF\xBF\xBD");  // U+FFFD
    ++i;
  }
  return text;
}

}  // namespace

std::vector<std::int32_t> words_of_prompt(const std::string& prompt, TokenFormat format,
                                          std::int64_t vocabulary) {
  std::vector<std::int32_t> words = words_of({"the prompt", prompt}, format, vocabulary);
  if (!words.empty()) return words;
  return {format == TokenFormat::text ? checked('\n', "the prompt", vocabulary) : 0};
}

std::vector<std::int32_t> words_of_stop(const std::string& stop, TokenFormat format,
                                        std::int64_t vocabulary) {
  std::vector<std::int32_t> words = words_of({"--stop", stop}, format, vocabulary);
  if (words.empty()) throw std::runtime_error("--stop has no word");
  return words;
}

std::string readable(const std::vector<std::int32_t>& words, TokenFormat format) {
  std::string text;
  if (format != TokenFormat::text) {
    for (std::int32_t word : words) {
      text.append(text.empty() ? "" : " ").append(std::to_string(word));
    }
    return text;
  }
  std::string bytes;
  for (std::int32_t word : words) {
    if (is_byte(word)) {
      bytes += static_cast<char>(word);
    } else {
      text += readable_bytes(std::exchange(bytes, "")) + '<' + std::to_string(word) + '>';
    }
  }
  return text + readable_bytes(bytes);
}

std::string readable_so_far(std::vector<std::int32_t> words, TokenFormat format) {
  if (format != TokenFormat::text) return readable(words, format);
  // Only the last letter can still grow: up to three bytes that continue it, and the one it starts
  // with.
  for (std::size_t kept = 1; kept <= std::min<std::size_t>(4, words.size()); ++kept) {
    const std::size_t start = words.size() - kept;
    if (!is_byte(words[start])) break;
    const auto byte = static_cast<unsigned char>(words[start]);
    if ((byte & 0xC0) == 0x80) continue;
    if (promised_length(byte) > kept) words.resize(start);
    break;
  }
  return readable(words, format);
}

}  // namespace fourfold::inline engine::inline train::inline sample
