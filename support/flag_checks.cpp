// Checks of whole numbers and of words; see flag_checks.hpp.
#include "support/flag_checks.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/visible_text.hpp"

namespace fourfold::inline support {

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

CLI::Validator number(double least, double most) {
  const auto why_not = [least, most](const std::string& word) {
    double value = 0.0;
    const char* end = word.data() + word.size();
    const auto parsed = std::from_chars(word.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(value)) {
      return fmt::format("'{}' is no number", word);
    }
    if (value >= least && value <= most) return std::string();
    const bool open = most == std::numeric_limits<double>::max();
    return fmt::format("must be at least {}{}, not {}", least,
                       open ? "" : fmt::format(" and at most {}", most), word);
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

void check_all_values(CLI::App& verb) {
  for (CLI::Option* option : verb.get_options()) {
    if (option->get_expected_max() == 0) continue;  // takes no value
    const std::string kind = option->get_type_name();
    option->check(some_word());
    if (kind == "INT" || kind == "UINT") {
      option->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
    } else if (kind == "FLOAT") {
      option->check(number(std::numeric_limits<double>::lowest()));
    }
  }
  for (CLI::App* below : verb.get_subcommands({})) check_all_values(*below);
}

std::string stray_bytes(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (is_utf8(word)) continue;
    using Handler = nlohmann::json::error_handler_t;
    return fmt::format("the word {} of the command line is no text in UTF-8",
                       nlohmann::json(word).dump(-1, ' ', false, Handler::replace));
  }
  return "";
}

}  // namespace fourfold::inline support
