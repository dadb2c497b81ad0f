// Quantiles of the distributions; see jitter.hpp.
#include "sim/conditions/jitter.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "sim/cost/order_statistics.hpp"

namespace fourfold::inline sim::inline conditions {
namespace {

// Of as many equally likely parts, the middles; from the upper bits of a draw.
constexpr int bits_of_jitter = 12;
constexpr int bits_of_machine = 16;

std::vector<double> normal_quantiles(int bits) {
  std::vector<double> quantiles(std::size_t{1} << bits);
  for (std::size_t i = 0; i < quantiles.size(); ++i) {
    const double middle = (static_cast<double>(i) + 0.5) / static_cast<double>(quantiles.size());
    quantiles[i] = normal_quantile(middle);
  }
  return quantiles;
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
  shift_ = 64 - bits_of_jitter;
  quantiles_ = normal_quantiles(bits_of_jitter);
  for (double& factor : quantiles_) factor = std::exp(width * factor);
  const double mean = std::accumulate(quantiles_.begin(), quantiles_.end(), 0.0) /
                      static_cast<double>(quantiles_.size());
  for (double& factor : quantiles_) factor /= mean;
}

Jitter Jitter::of_machine(std::uint64_t seed) {
  Jitter jitter;
  jitter.seed_ = seed;
  jitter.shift_ = 64 - bits_of_machine;
  jitter.quantiles_ = normal_quantiles(bits_of_machine);
  return jitter;
}

}  // namespace fourfold::inline sim::inline conditions
