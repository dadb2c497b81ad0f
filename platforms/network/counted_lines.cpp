// Adds up footprints; see counted_lines.hpp.
#include "platforms/network/counted_lines.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "platforms/network/topology.hpp"

namespace fourfold::inline platforms::inline network {

namespace {

std::int64_t nodes_of(std::int64_t devices, const Platform& platform) {
  return (devices + platform.node.devices - 1) / platform.node.devices;
}

}  // namespace

struct CountedLines::Kept {
  Platform platform;
  std::mutex mutex;
  // By lines, stride and extent of the slices; of each slice.
  std::map<std::array<std::int64_t, 5>, std::vector<Load>> loads;
  // By nodes of a job: what it finds of sets of devices holds for all its lines.
  std::map<std::int64_t, Topology> topologies;

  std::vector<Load> count(AxisLines lines, std::int64_t stride, std::int64_t slices) {
    const std::int64_t nodes = nodes_of(lines.devices, platform);
    const Topology& topology = topologies.try_emplace(nodes, platform, nodes).first->second;
    const auto links = static_cast<std::size_t>(topology.link_count());
    std::vector<double> sums(links);
    // By slice and link.
    std::vector<bool> loaded(links * static_cast<std::size_t>(slices));
    const std::int64_t length = lines.stride * (lines.extent - 1);
    std::vector<std::int64_t> line(static_cast<std::size_t>(lines.extent));
    for (std::int64_t first = 0; first + length < lines.devices; ++first) {
      if (first % (lines.stride * lines.extent) >= lines.stride) continue;
      for (std::size_t i = 0; i < line.size(); ++i) {
        line[i] = first + static_cast<std::int64_t>(i) * lines.stride;
      }
      const auto slice = static_cast<std::size_t>(first / stride % slices);
      for (const LinkShare& one : topology.ring_footprint(line, 0)) {
        const auto link = static_cast<std::size_t>(one.link);
        sums[link] += one.share;
        loaded[slice * links + link] = true;
      }
    }
    std::vector<Load> result;
    for (std::size_t slice = 0; slice < static_cast<std::size_t>(slices); ++slice) {
      const auto load_of = [&](std::int32_t link) {
        const auto i = static_cast<std::size_t>(link);
        return loaded[slice * links + i] ? sums[i] / topology.capacity(link).value : 0.0;
      };
      result.push_back(busiest(topology, load_of));
    }
    return result;
  }

  // NICs once: rings send what they receive.
  template <typename LoadOf>
  Load busiest(const Topology& topology, const LoadOf& load_of) const {
    const auto nics = static_cast<std::int32_t>(platform.node.nics.size());
    const std::int32_t inside = topology.links_per_node() - nics;
    std::vector<double> most(static_cast<std::size_t>(inside) + 2);
    for (std::int32_t link = 0; link < topology.link_count(); ++link) {
      std::int32_t number = inside + 1;
      if (topology.kind(link) <= LinkKind::nic_in) {
        number = link % topology.links_per_node();
        if (number >= inside) number -= nics;
      } else if (topology.kind(link) == LinkKind::local) {
        number = inside;
      }
      double& busiest = most[static_cast<std::size_t>(number)];
      busiest = std::max(busiest, load_of(link));
    }
    Load result;
    result.rate = 1.0 / *std::ranges::max_element(most);
    for (std::size_t i = 0; i < most.size(); ++i) {
      if (most[i] > 0.0) result.shares.push_back({static_cast<std::int32_t>(i), most[i]});
    }
    return result;
  }
};

CountedLines::CountedLines(const Platform& platform) : kept_(std::make_shared<Kept>(platform)) {}

bool CountedLines::has(AxisLines lines) const {
  return lines.devices <= most_counted_devices &&
         nodes_of(lines.devices, kept_->platform) <= kept_->platform.nodes;
}

const CountedLines::Load& CountedLines::load(AxisLines lines, Slice slice) const {
  const std::lock_guard lock(kept_->mutex);
  const auto [at, is_new] = kept_->loads.try_emplace(
      {lines.stride, lines.extent, lines.devices, slice.stride, slice.extent});
  if (is_new) at->second = kept_->count(lines, slice.stride, slice.extent);
  return at->second[static_cast<std::size_t>(slice.index)];
}

}  // namespace fourfold::inline platforms::inline network
