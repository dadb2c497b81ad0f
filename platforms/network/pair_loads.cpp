// Footprints of pairs, added up; see pair_loads.hpp.
#include "platforms/network/pair_loads.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace fourfold::inline platforms::inline network {

Footprint exchange_footprint(const Topology& topology, Motion motion,
                             const std::vector<std::int64_t>& members, ChannelNumber channel) {
  const std::size_t n = members.size();
  const std::size_t reach = motion == Motion::pairs ? n : 1;  // how far pairs are apart
  const std::size_t sends = std::min<std::size_t>(n - 1, motion == Motion::pairs ? n : 2);
  Footprint footprint;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n && b <= a + reach; ++b) {
      for (LinkShare entry : topology.ring_footprint({members[a], members[b]}, channel)) {
        entry.share /= static_cast<double>(sends);
        footprint.push_back(entry);
      }
    }
    // So that it stays small.
    if (footprint.size() > std::size_t{1} << 20) merge(footprint);
  }
  merge(footprint);
  return footprint;
}

BytesPerSecond exchange_rate(const Platform& platform, Motion motion, AxisLines lines) {
  if (lines.extent == 1) return {std::numeric_limits<double>::infinity()};
  constexpr std::int64_t most_pairs = std::int64_t{1} << 20;
  const std::int64_t pairs = lines.devices * (motion == Motion::pairs ? lines.extent - 1 : 2) / 2;
  if (pairs > most_pairs) {
    throw std::invalid_argument("exchanges are counted pair by pair, and " +
                                std::to_string(lines.devices) + " devices in groups of " +
                                std::to_string(lines.extent) + " have " + std::to_string(pairs) +
                                " pairs; at most " + std::to_string(most_pairs) + " are");
  }
  const std::int64_t per_node = platform.node.devices;
  const Topology topology(platform, (lines.devices + per_node - 1) / per_node);
  std::vector<double> load(static_cast<std::size_t>(topology.link_count()), 0.0);
  for (std::int64_t first = 0; first < lines.devices; ++first) {
    if (first / lines.stride % lines.extent != 0) continue;
    std::vector<std::int64_t> members;
    for (std::int64_t i = 0; i < lines.extent; ++i) members.push_back(first + i * lines.stride);
    if (members.back() >= lines.devices) continue;
    for (const LinkShare& entry : exchange_footprint(topology, motion, members, 0)) {
      load[static_cast<std::size_t>(entry.link)] += entry.share;
    }
  }
  double rate = std::numeric_limits<double>::infinity();
  for (std::size_t link = 0; link < load.size(); ++link) {
    if (load[link] <= 0.0) continue;
    rate = std::min(rate, topology.capacity(static_cast<std::int32_t>(link)).value / load[link]);
  }
  return {rate};
}

}  // namespace fourfold::inline platforms::inline network
