// Checks of whole numbers and of words; see flag_checks.hpp.
#include "support/flag_checks.hpp"

#include <fmt/format.h>

#include <charconv>

namespace fourfold {

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto why_not = [least, most](const std::string& word) {
    std::int64_t value = 0;
    const char* end = word.data() + word.size();
    const auto parsed = std::from_chars(word.data(), end, value);
    if (parsed.ec == std::errc() && parsed.ptr == end && value >= least && value <= most) {
      return std::string();
    }
    return fmt::format("'{}' is no whole number from {} to {}", word, least, most);
  };
  return {why_not, ""};
}

CLI::Validator some_word() {
  return {[](const std::string& word) {
            return std::string(
                word.empty() ? "has an empty value; leave the flag out or give it one" : "");
          },
          ""};
}

}  // namespace fourfold
