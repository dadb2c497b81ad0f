// One estimate per unconfirmed fact and factor; see sensitivity.hpp.
#include "scaling/bars/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "platforms/operation.hpp"
#include "scaling/bars/varied.hpp"
#include "scaling/words/machine_name.hpp"
#include "scaling/words/text_table.hpp"

namespace fourfold::inline scaling::inline bars {
namespace {

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
