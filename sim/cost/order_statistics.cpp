// Quantiles of the normal distribution; see order_statistics.hpp.
#include "sim/cost/order_statistics.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <numbers>

namespace fourfold::inline sim::inline cost {

double normal_quantile(double probability) {
  return std::numbers::sqrt2 * boost::math::erf_inv(2.0 * probability - 1.0);
}

double expected_largest(std::int64_t values) {
  if (values < 2) return 0.0;
  const auto n = static_cast<double>(values);
  return normal_quantile((n - 0.375) / (n + 0.25));
}

// pi^2 / 6 over the square of the rate at which a tail falls where the largest is expected: the
// variance of Gumbel's distribution, with what makes it right for few values, too.
double variance_of_largest(std::int64_t values) {
  if (values < 2) return 1.0;
  const double expected = expected_largest(values);
  constexpr double gumbel = std::numbers::pi * std::numbers::pi / 6.0;
  return gumbel / (expected * expected + 2.0 + 0.25 * expected);
}

}  // namespace fourfold::inline sim::inline cost
