// One estimate per unconfirmed fact and factor; see sensitivity.hpp.
#include "scaling/bars/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "platforms/operation.hpp"
#include "scaling/words/machine_name.hpp"
#include "scaling/words/text_table.hpp"
#include "sim/estimate/estimate.hpp"
#include "sim/estimate/recordings.hpp"

namespace fourfold::inline scaling::inline bars {
namespace {

// Estimates one point on platforms that differ in a number: its step is recorded once, and rates of
// rings are tabulated where that number is one of the nodes or the network.
class Varied {
 public:
  Varied(const Point& point, const Platform& platform)
      : point_(point),
        platform_(platform),
        rates_(platform),
        recordings_(point_.model, point_.options),
        pipeline_(
            recordings_.pipeline(point_.grid.extent(Axis::pipe), point_.options.micro_batches)) {}

  Seconds estimated() const { return estimate_on(platform_, rates_); }

  // Absent if the scaled platform is refused, say a fraction above 1.
  std::optional<Seconds> estimated_with(const std::string& key, double factor) const {
    Scales scales = point_.scales;
    const auto known = scales.find(key);
    scales[key] = factor * (known == scales.end() ? 1.0 : known->second);
    const bool of_rates = key.starts_with("node.") || key.starts_with("network.");
    try {
      const Platform platform = read_platform(point_.platform, scales, point_.software);
      return estimate_on(platform, of_rates ? AxisRates(platform) : rates_);
    } catch (const std::runtime_error&) {
      return std::nullopt;
    }
  }

 private:
  Seconds estimate_on(const Platform& platform, const AxisRates& rates) const {
    Estimator estimator(platform, point_, rates);
    return estimator.evaluate(pipeline_, point_.grid, point_.options.micro_batches).outcome.total;
  }

  const Point& point_;
  const Platform& platform_;
  AxisRates rates_;
  Recordings recordings_;
  const Pipeline& pipeline_;
};

double size(const Effect& effect, Seconds base) {
  double largest = 0.0;
  for (const std::optional<Seconds>& seconds : {effect.half, effect.twice}) {
    if (seconds) largest = std::max(largest, std::abs(*seconds / base - 1.0));
  }
  return largest;
}

std::string seconds_and_percent(const std::optional<Seconds>& seconds, Seconds base) {
  if (!seconds) return "impossible";
  return fmt::format("{:.2f} ({:+.1f} %)", seconds->value, 100.0 * (*seconds / base - 1.0));
}

}  // namespace

Sensitivity sensitivity(const Point& point) {
  const Platform platform = read_platform(point.platform, point.scales, point.software);
  const Varied varied(point, platform);
  Sensitivity result{point, varied.estimated(), {}, 0};
  for (const Fact& fact : platform.facts) {
    if (!fact.unconfirmed || is_of_operation(fact)) continue;
    ++result.unconfirmed;
    Effect effect{fact.key, fact.value, varied.estimated_with(fact.key, 0.5),
                  varied.estimated_with(fact.key, 2.0)};
    if (size(effect, result.estimated) >= Sensitivity::threshold) result.effects.push_back(effect);
  }
  std::stable_sort(result.effects.begin(), result.effects.end(),
                   [&](const Effect& a, const Effect& b) {
                     return size(a, result.estimated) > size(b, result.estimated);
                   });
  return result;
}

std::string sensitivity_table(const Sensitivity& result) {
  const Point& point = result.point;
  const std::string subject =
      fmt::format("{}, {} on {} devices, grid {}, {:.2f} s estimated", machine_name(point.platform),
                  point.model.name, point.grid.size(), point.grid.str(), result.estimated.value);
  if (result.unconfirmed == 0) return subject + ": every number of the platform has a source.\n";
  const std::string below = fmt::format("{:.1f} %", 100.0 * Sensitivity::threshold);
  if (result.effects.empty()) {
    return fmt::format(
        "{}: half and double of each of the {} unconfirmed numbers change less than "
        "{}.\n",
        subject, result.unconfirmed, below);
  }
  TextTable table;
  table.columns = {{"unconfirmed number", "", Align::left},
                   {"value", ""},
                   {"half gives", "s"},
                   {"double gives", "s"}};
  for (const Effect& effect : result.effects) {
    table.rows.push_back({effect.key, fmt::format("{:g}", effect.value),
                          seconds_and_percent(effect.half, result.estimated),
                          seconds_and_percent(effect.twice, result.estimated)});
  }
  return fmt::format("{}:\n{}{} of {} unconfirmed numbers change less than {} and are not shown.\n",
                     subject, format(table),
                     result.unconfirmed - static_cast<std::int64_t>(result.effects.size()),
                     result.unconfirmed, below);
}

}  // namespace fourfold::inline scaling::inline bars
