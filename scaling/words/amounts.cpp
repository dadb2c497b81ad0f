// Parses amounts; see amounts.hpp.
#include "scaling/words/amounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "support/field.hpp"

namespace fourfold::inline scaling::inline words {
namespace {

[[noreturn]] void refuse(const std::string& flag, const std::string& word, const char* wanted) {
  throw std::runtime_error(fmt::format("{} '{}' is no {}", flag, word, wanted));
}

// The number that a word starts with, and what stands behind it.
struct Amount {
  double number = 0.0;
  std::string unit;
};

Amount split(const std::string& flag, const std::string& word, const char* wanted) {
  Amount amount;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, amount.number);
  if (parsed.ec != std::errc() || !std::isfinite(amount.number) || amount.number <= 0.0) {
    refuse(flag, word, wanted);
  }
  amount.unit.assign(parsed.ptr, end);
  return amount;
}

double within(const std::string& flag, const std::string& word, double amount, double most) {
  if (amount <= most) return amount;
  throw std::runtime_error(fmt::format("{} '{}' is more than {:g}", flag, word, most));
}

// `part`: of the word.
std::int64_t count_in(const std::string& flag, const std::string& word, const std::string& part) {
  std::int64_t count = 0;
  const char* end = part.data() + part.size();
  const auto parsed = std::from_chars(part.data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end || count < 1 || count > most_of_anything) {
    throw std::runtime_error(
        fmt::format("{} '{}': '{}' is no whole number from 1 on; numbers and ranges with commas "
                    "between them are right, such as 512,1024..8192",
                    flag, word, part));
  }
  return count;
}

}  // namespace

double amount_in(const std::string& flag, const std::string& word) {
  const char* wanted = "number such as 300B, 1.5T, 500k or 2e12";
  const Amount amount = split(flag, word, wanted);
  for (const auto& [unit, factor] :
       {std::pair{"", 1.0}, std::pair{"k", 1e3}, std::pair{"M", 1e6}, std::pair{"B", 1e9},
        std::pair{"G", 1e9}, std::pair{"T", 1e12}}) {
    if (amount.unit == unit) return within(flag, word, amount.number * factor, 1e18);
  }
  refuse(flag, word, wanted);
}

double days_in(const std::string& flag, const std::string& word) {
  const char* wanted = "time such as 30d, 2w or 36h";
  const Amount amount = split(flag, word, wanted);
  for (const auto& [unit, factor] :
       {std::pair{"d", 1.0}, std::pair{"w", 7.0}, std::pair{"h", 1.0 / 24.0}}) {
    if (amount.unit == unit) return within(flag, word, amount.number * factor, 1e6);
  }
  refuse(flag, word, wanted);
}

double inches_in(const std::string& flag, const std::string& word) {
  if (word.empty()) return 0.0;
  const char* wanted = "width from 1in to 40in, such as 3.5in or 9cm";
  const Amount amount = split(flag, word, wanted);
  for (const auto& [unit, factor] : {std::pair{"in", 1.0}, std::pair{"cm", 1.0 / 2.54}}) {
    const double inches = amount.number * factor;
    if (amount.unit == unit && inches >= 1.0 && inches <= 40.0) return inches;
  }
  refuse(flag, word, wanted);
}

std::vector<std::int64_t> counts_in(const std::string& flag, const std::string& word) {
  std::vector<std::int64_t> counts;
  std::istringstream list(word);
  for (std::string part; std::getline(list, part, ',');) {
    const std::size_t dots = part.find("..");
    const std::int64_t first = count_in(flag, word, part.substr(0, dots));
    const std::int64_t last =
        dots == std::string::npos ? first : count_in(flag, word, part.substr(dots + 2));
    if (first > last) {
      throw std::runtime_error(fmt::format("{} '{}' ends before it begins", flag, part));
    }
    counts.push_back(first);
    while (counts.back() <= last / 2) counts.push_back(2 * counts.back());
    counts.push_back(last);
  }
  if (counts.empty()) count_in(flag, word, "");
  std::ranges::sort(counts);
  const auto repeated = std::ranges::unique(counts);
  counts.erase(repeated.begin(), repeated.end());
  return counts;
}

std::string seconds_text(Seconds seconds, Seconds beside) {
  constexpr int least = 3, most = 9;  // decimals
  const double scale = std::abs(beside.value);
  if (!(scale > 0.0)) return fmt::format("{:.3f}", seconds.value);
  const int decimals = 2 - static_cast<int>(std::floor(std::log10(scale)));
  return fmt::format("{:.{}f}", seconds.value, std::clamp(decimals, least, most));
}

}  // namespace fourfold::inline scaling::inline words
