// Young's and Daly's formulas; see failures.hpp.
#include "scaling/find/failures.hpp"

#include <cmath>

namespace fourfold::inline scaling::inline find {

Seconds young_interval(const CheckpointCost& cost) {
  return {std::sqrt(2.0 * cost.write.value * cost.between_failures.value)};
}

Seconds daly_interval(const CheckpointCost& cost) {
  const double part = cost.write / (2.0 * cost.between_failures);
  if (part >= 1.0) return cost.between_failures;
  return young_interval(cost) * (1.0 + std::sqrt(part) / 3.0 + part / 9.0) - cost.write;
}

double stretch(const CheckpointCost& cost, Seconds interval) {
  const double mean = cost.between_failures.value;
  const double attempt = (interval + cost.write).value / mean;
  return mean / interval.value * std::exp(cost.restart.value / mean) * std::expm1(attempt);
}

}  // namespace fourfold::inline scaling::inline find
