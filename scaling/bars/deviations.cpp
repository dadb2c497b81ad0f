// Means and quantiles; see deviations.hpp.
#include "scaling/bars/deviations.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace fourfold::inline scaling::inline bars {

Deviations deviations_of(const std::vector<double>& deviations) {
  Deviations result;
  result.count = deviations.size();
  if (deviations.empty()) return result;
  std::vector<double> absolute;
  for (double deviation : deviations) {
    absolute.push_back(std::abs(deviation));
    result.mean_absolute += absolute.back();
    result.bias += deviation;
  }
  result.mean_absolute /= static_cast<double>(result.count);
  result.bias /= static_cast<double>(result.count);
  result.worst = static_cast<std::size_t>(std::max_element(absolute.begin(), absolute.end()) -
                                          absolute.begin());
  result.median = quantile(absolute, 0.5);
  result.ninetieth = quantile(absolute, 0.9);
  return result;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) throw std::invalid_argument("there is no quantile of nothing");
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace fourfold::inline scaling::inline bars
