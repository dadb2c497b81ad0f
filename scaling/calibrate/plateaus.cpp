// Medians at the largest buffers; see plateaus.hpp.
#include "scaling/calibrate/plateaus.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "scaling/bars/deviations.hpp"
#include "sim/cost/protocol.hpp"

namespace fourfold::inline scaling::inline calibrate {
namespace {

// The rate over that of the bytes that the largest buffer has more than a smaller one: near 1 on a
// plateau, and small where the time is latency. 4 KiB in 21 us after 2 KiB in 20 us: 0.095. 0 where
// no smaller buffer was measured, or none was faster.
double share_of_last_bytes(const CollectiveSample& largest,
                           const std::vector<CollectiveSample>& samples) {
  const CollectiveSample* smaller = nullptr;
  for (const CollectiveSample& one : samples) {
    const bool alike = one.kind == largest.kind && one.nodes == largest.nodes &&
                       one.in_each == largest.in_each && one.at_once == largest.at_once;
    if (!alike || one.buffer.value > largest.buffer.value / 2) continue;
    if (smaller == nullptr || one.buffer.value > smaller->buffer.value) smaller = &one;
  }
  if (smaller == nullptr || !(largest.time > smaller->time)) return 0.0;
  const double last_bytes =
      (largest.buffer.value - smaller->buffer.value) / (largest.time.value - smaller->time.value);
  return largest.buffer.value / largest.time.value / last_bytes;
}

}  // namespace

const std::vector<GroupKind>& group_kinds() {
  static const std::vector<GroupKind> all{
      {"across", &CollectiveLibrary::across,
       [](const CollectiveSample& one) { return one.nodes > 1 && one.at_once == 1; }},
      {"across_at_once", &CollectiveLibrary::across_at_once,
       [](const CollectiveSample& one) { return one.nodes > 1 && one.at_once > 1; }},
      {"in_node", &CollectiveLibrary::in_node,
       [](const CollectiveSample& one) { return one.nodes == 1; }}};
  return all;
}

double bus_bandwidth(const CollectiveSample& sample) {
  return sample.buffer.value * part_sent(sample.kind, sample.nodes * sample.in_each) /
         sample.time.value;
}

std::vector<MeasuredPlateau> plateaus(const std::vector<CollectiveSample>& samples,
                                      const GroupKind& kind) {
  constexpr double reached = 0.8;
  std::map<std::int64_t, double> largest;
  for (const CollectiveSample& one : samples) {
    if (kind.holds(one)) largest[one.in_each] = std::max(largest[one.in_each], one.buffer.value);
  }
  std::vector<MeasuredPlateau> found;
  for (const auto& [members, bytes] : largest) {
    std::vector<double> rates, shares;
    for (const CollectiveSample& one : samples) {
      if (kind.holds(one) && one.in_each == members && one.buffer.value >= bytes) {
        rates.push_back(bus_bandwidth(one));
        shares.push_back(share_of_last_bytes(one, samples));
      }
    }
    found.push_back({{static_cast<int>(members), {quantile(rates, 0.5)}},
                     bytes,
                     quantile(shares, 0.5) >= reached});
  }
  return found;
}

}  // namespace fourfold::inline scaling::inline calibrate
