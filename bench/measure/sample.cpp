// Sorts and counts; see sample.hpp.
#include "bench/measure/sample.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace fourfold::inline bench::inline measure {

double nearest_rank(Sample sample, double share) {
  if (sample.empty()) throw std::invalid_argument("a quantile of no samples was asked for");
  const auto at =
      static_cast<std::size_t>(std::lround(share * static_cast<double>(sample.size() - 1)));
  const auto place = sample.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(sample.begin(), place, sample.end());
  return *place;
}

double median(const Sample& sample) {
  return nearest_rank(sample, 0.5);
}

Summary summary(const Sample& sample) {
  return {nearest_rank(sample, 0.0), nearest_rank(sample, 0.5),
          nearest_rank(sample, 0.9), nearest_rank(sample, 0.99),
          nearest_rank(sample, 1.0), static_cast<std::int64_t>(sample.size())};
}

double chance_of_lower(const Sample& fresh, const Sample& before) {
  if (fresh.empty() || before.empty()) return 1.0;
  std::vector<std::pair<double, bool>> all;  // value, and whether it is a fresh one
  for (double value : fresh) all.emplace_back(value, true);
  for (double value : before) all.emplace_back(value, false);
  std::sort(all.begin(), all.end());

  double rank_sum = 0.0;  // of fresh values; equal values share the mean of their ranks
  double ties = 0.0;
  for (std::size_t begin = 0; begin < all.size();) {
    std::size_t end = begin;
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    const double rank = 0.5 * static_cast<double>(begin + 1 + end);
    for (std::size_t i = begin; i < end; ++i) {
      if (all[i].second) rank_sum += rank;
    }
    const auto equal = static_cast<double>(end - begin);
    ties += equal * equal * equal - equal;
    begin = end;
  }
  const auto n = static_cast<double>(fresh.size()), m = static_cast<double>(before.size());
  const double u = rank_sum - n * (n + 1) / 2;  // pairs in which the fresh value is the larger
  const double variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  if (variance <= 0.0) return 1.0;  // all values are equal
  const double z = (u + 0.5 - n * m / 2) / std::sqrt(variance);
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
}

}  // namespace fourfold::inline bench::inline measure
