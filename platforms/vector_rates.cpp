// Reads the fact; see vector_rates.hpp.
#include "platforms/vector_rates.hpp"

#include <algorithm>

#include "platforms/file/fact_table.hpp"
#include "platforms/file/scale_groups.hpp"

namespace fourfold::inline platforms {

namespace {

constexpr double tera = 1e12;

const Fact* fp32_fact(const Platform& platform) {
  const auto fact = std::ranges::find(platform.facts, "processor.fp32_Tflops", &Fact::key);
  return fact == platform.facts.end() ? nullptr : &*fact;
}

}  // namespace

std::optional<FlopsPerSecond> fp32_products(const Platform& platform) {
  const Fact* const fact = fp32_fact(platform);
  if (fact == nullptr) return std::nullopt;
  return {{fact->value * tera * factor_for(platform, *fact)}};
}

double fp32_rate(const Platform& platform) {
  const std::optional<FlopsPerSecond> products = fp32_products(platform);
  if (!products) return 1.0;
  return *products / std::ranges::max_element(platform.processor.gemm, {}, &GemmPoint::rate)->rate;
}

double fp32_attention_rate(const Platform& platform) {
  const Fact* const fact = fp32_fact(platform);
  if (fact == nullptr) return 1.0;
  double largest = 0.0;
  for (const Fact& one : platform.facts) {
    if (without_label(one.key) == "processor.gemm.rate_Tflops") {
      largest = std::max(largest, one.value);
    }
  }
  return fact->value / largest;
}

}  // namespace fourfold::inline platforms
