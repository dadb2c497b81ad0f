// Parses amounts; see amounts.hpp.
#include "scaling/cli/amounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace fourfold {
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

std::int64_t count_in(const std::string& flag, const std::string& word, const char* wanted) {
  std::int64_t count = 0;
  const char* end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end || count < 1) refuse(flag, word, wanted);
  return count;
}

}  // namespace

double amount_in(const std::string& flag, const std::string& word) {
  const char* wanted = "number such as 300B, 1.5T, 500k or 2e12";
  const Amount amount = split(flag, word, wanted);
  for (const auto& [unit, factor] :
       {std::pair{"", 1.0}, std::pair{"k", 1e3}, std::pair{"M", 1e6}, std::pair{"B", 1e9},
        std::pair{"G", 1e9}, std::pair{"T", 1e12}}) {
    if (amount.unit == unit) return amount.number * factor;
  }
  refuse(flag, word, wanted);
}

double days_in(const std::string& flag, const std::string& word) {
  const char* wanted = "time such as 30d, 2w or 36h";
  const Amount amount = split(flag, word, wanted);
  for (const auto& [unit, factor] :
       {std::pair{"d", 1.0}, std::pair{"w", 7.0}, std::pair{"h", 1.0 / 24.0}}) {
    if (amount.unit == unit) return amount.number * factor;
  }
  refuse(flag, word, wanted);
}

std::vector<std::int64_t> counts_in(const std::string& flag, const std::string& word) {
  const char* wanted = "number, range such as 1024..8192, or list such as 512,768";
  std::vector<std::int64_t> counts;
  if (const std::size_t dots = word.find(".."); dots != std::string::npos) {
    const std::int64_t first = count_in(flag, word.substr(0, dots), wanted);
    const std::int64_t last = count_in(flag, word.substr(dots + 2), wanted);
    if (first > last) {
      throw std::runtime_error(fmt::format("{} '{}' ends before it begins", flag, word));
    }
    counts.push_back(first);
    while (counts.back() <= last / 2) counts.push_back(2 * counts.back());
    if (counts.back() != last) counts.push_back(last);
    return counts;
  }
  std::istringstream list(word);
  for (std::string one; std::getline(list, one, ',');) {
    counts.push_back(count_in(flag, one, wanted));
  }
  if (counts.empty()) refuse(flag, word, wanted);
  std::ranges::sort(counts);
  const auto repeated = std::ranges::unique(counts);
  counts.erase(repeated.begin(), repeated.end());
  return counts;
}

}  // namespace fourfold
