// Percentages to lower bounds; see allowance.hpp.
#include "bench/regress/allowance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <stdexcept>

namespace fourfold::inline bench::inline regress {
namespace {

double share_in(const std::string& allowed, const std::string& word) {
  double percent = 0.0;
  const char* const end = word.data() + word.size() - (word.ends_with('%') ? 1 : 0);
  const auto [read, error] = std::from_chars(word.data(), end, percent);
  if (!word.ends_with('%') || error != std::errc() || read != end ||
      !(percent > 0.0 && percent < 100.0)) {
    throw std::runtime_error(
        fmt::format("--allow '{}': a fall is a percentage above 0 % and below 100 %, such as 5% or "
                    "'FMA peak=5%'",
                    allowed));
  }
  return percent / 100.0;
}

}  // namespace

std::vector<std::string> allow(const std::vector<std::string>& words, Baseline& baseline) {
  std::vector<std::string> kept;
  for (const std::string& word : words) {
    const std::size_t sign = word.rfind('=');
    const bool all = sign == std::string::npos;
    const double share = share_in(word, all ? word : word.substr(sign + 1));
    const std::string name = all ? "" : word.substr(0, sign);
    bool found = false;
    for (BaselineMetric& metric : baseline.metrics) {
      if (metric.scale == Scale::exact || !metric.name.starts_with(name)) continue;
      const bool wider = all && metric.scale == Scale::traffic && metric.reference.lower < -share;
      std::erase(kept, metric.name);
      if (wider) kept.push_back(metric.name);
      if (!wider) metric.reference.lower = -share;
      found = true;
    }
    if (found) continue;
    std::vector<std::string> known;
    for (const BaselineMetric& metric : baseline.metrics) {
      if (metric.scale != Scale::exact) known.push_back(metric.name);
    }
    throw std::runtime_error(
        fmt::format("--allow '{}': the baseline has no quantity that begins so; "
                    "it has {}",
                    word, fmt::join(known, "; ")));
  }
  return kept;
}

}  // namespace fourfold::inline bench::inline regress
