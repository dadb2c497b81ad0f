// Compares the links of the machine with and without a factor; see idle_scales.hpp.
#include "sim/conditions/idle_scales.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "platforms/file/sections.hpp"
#include "platforms/network/topology.hpp"
#include "sim/conditions/conditions.hpp"

namespace fourfold::inline sim::inline conditions {
namespace {

bool of_links(const std::string& key) {
  if (key == global_bandwidth_scale || key == "nics" || key == "network") return true;
  return key.ends_with("_GBps") && (key.starts_with("node.") || key.starts_with("network."));
}

bool passes(const Topology& topology, const std::vector<bool>& changed, const ProcessGrid& grid,
            const Mapping& mapping) {
  for (Axis axis : every_axis) {
    if (grid.extent(axis) == 1) continue;
    for (std::int64_t rank = 0; rank < grid.size(); ++rank) {
      if (grid.coordinate(rank, axis) != 0) continue;  // a group once
      const std::vector<std::int64_t> group = mapping.apply(grid.line(rank, axis));
      for (const LinkShare& entry : topology.ring_footprint(group, 0)) {
        if (changed[static_cast<std::size_t>(entry.link)]) return true;
      }
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> idle_scales(const Point& point, const Platform& platform) {
  std::vector<std::string> idle;
  for (const auto& [key, factor] : point.scales) {
    if (!of_links(key) || factor == 1.0) continue;
    Scales others = point.scales;
    others.erase(key);
    const Platform before = read_platform(point.platform, others, point.software);
    const Mapping mapping = mapping_of(point, platform);
    const std::int64_t nodes = mapping.nodes(platform.node.devices);
    const Topology scaled(platform, nodes), unscaled(before, nodes);
    std::vector<bool> changed;
    for (std::int32_t link = 0; link < scaled.link_count(); ++link) {
      changed.push_back(!(scaled.capacity(link) == unscaled.capacity(link)));
    }
    // Where a link is slower, rings may go another way.
    if (passes(scaled, changed, point.grid, mapping)) continue;
    if (passes(unscaled, changed, point.grid, mapping)) continue;
    idle.push_back(key);
  }
  return idle;
}

void refuse_idle_scales(const Point& point, const Platform& platform) {
  const std::vector<std::string> idle = idle_scales(point, platform);
  if (idle.empty()) return;
  throw std::invalid_argument(fmt::format(
      "--scale {}={:g} cannot take effect: {} devices on grid {} send nothing over "
      "such links",
      idle.front(), point.scales.at(idle.front()), point.grid.size(), point.grid.str()));
}

}  // namespace fourfold::inline sim::inline conditions
