// One estimate a platform; see varied.hpp.
#include "scaling/bars/varied.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "platforms/file/fact_table.hpp"
#include "platforms/file/scale_groups.hpp"
#include "sim/estimate/estimate.hpp"

namespace fourfold::inline scaling::inline bars {

Varied::Varied(const Point& point, const Platform& platform)
    : point_(point),
      platform_(platform),
      rates_(platform),
      recordings_(point_.model, point_.options),
      pipeline_(
          recordings_.pipeline(point_.grid.extent(Axis::pipe), point_.options.micro_batches)) {}

std::optional<Seconds> Varied::estimated_with(const std::string& key, double factor) const {
  Scales scales = point_.scales;
  const auto known = scales.find(key);
  scales[key] = factor * (known == scales.end() ? 1.0 : known->second);
  const bool of_rates =
      key.starts_with("node.") || key.starts_with("network") || key == "nics" || key == "links";
  try {
    const Platform platform = read_platform(point_.platform, scales, point_.software);
    return estimate_on(platform, of_rates ? AxisRates(platform) : rates_);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

Seconds Varied::estimate_on(const Platform& platform, const AxisRates& rates) const {
  Estimator estimator(platform, point_, rates);
  return estimator.evaluate(pipeline_, point_.grid, point_.options.micro_batches).outcome.total;
}

std::vector<Limit> limits(const Point& point, const Platform& platform) {
  constexpr double least = 0.01;
  const std::vector<std::string> parts = names_of_scale_groups();
  std::set<std::string> keys(parts.begin(), parts.end());
  for (const Fact& fact : platform.facts) {
    if (fact.key.ends_with("_GBps") || fact.key.ends_with("_Tflops") || fact.key.ends_with("_us")) {
      keys.insert(without_label(fact.key));
    }
  }
  const Varied varied(point, platform);
  const Seconds now = varied.estimated();
  std::vector<Limit> found;
  for (const std::string& key : keys) {
    const auto twice = varied.estimated_with(key, key.ends_with("_us") ? 0.5 : 2.0);
    if (twice && *twice < now * (1.0 - least)) found.push_back({key, *twice});
  }
  std::ranges::stable_sort(found, {}, [](const Limit& one) { return one.twice.value; });
  return found;
}

}  // namespace fourfold::inline scaling::inline bars
