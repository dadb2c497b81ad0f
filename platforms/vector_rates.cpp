// Reads the fact; see vector_rates.hpp.
#include "platforms/vector_rates.hpp"

#include <algorithm>

namespace fourfold::inline platforms {

std::optional<FlopsPerSecond> fp32_products(const Platform& platform) {
  const std::string key = "processor.fp32_Tflops";
  const auto fact = std::ranges::find(platform.facts, key, &Fact::key);
  if (fact == platform.facts.end()) return std::nullopt;
  const auto scale = platform.scales.find(key);
  constexpr double tera = 1e12;
  return {{fact->value * tera * (scale == platform.scales.end() ? 1.0 : scale->second)}};
}

double fp32_rate(const Platform& platform) {
  const std::optional<FlopsPerSecond> products = fp32_products(platform);
  if (!products) return 1.0;
  return *products / std::ranges::max_element(platform.processor.gemm, {}, &GemmPoint::rate)->rate;
}

}  // namespace fourfold::inline platforms
