// Quantiles of the lognormal distribution; see jitter.hpp.
#include "sim/conditions/jitter.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

namespace fourfold::inline sim::inline conditions {
namespace {

// Where the normal distribution function reaches `probability`, by bisection.
double normal_quantile(double probability) {
  double low = -10.0;
  double high = 10.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    const double below = 0.5 * std::erfc(-middle / std::sqrt(2.0));
    (below < probability ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

Jitter::Jitter(double deviation, std::uint64_t seed) : deviation_(deviation), seed_(seed) {
  if (!(deviation > 0.0 && deviation <= 1.0)) {
    throw std::invalid_argument(
        fmt::format("a jitter of {:g} % is impossible; it must be above 0 % and at most 100 %",
                    100.0 * deviation));
  }
  // A lognormal factor of mean 1 and this deviation is exp(width z - width^2 / 2).
  const double width = std::sqrt(std::log1p(deviation * deviation));
  for (std::size_t i = 0; i < quantile_count; ++i) {
    const double middle = (static_cast<double>(i) + 0.5) / static_cast<double>(quantile_count);
    quantiles_[i] = std::exp(width * normal_quantile(middle));
  }
  const double mean = std::accumulate(quantiles_.begin(), quantiles_.end(), 0.0) /
                      static_cast<double>(quantile_count);
  for (double& factor : quantiles_) factor /= mean;
}

}  // namespace fourfold::inline sim::inline conditions
