// Adds up footprints; see counted_lines.hpp.
#include "platforms/network/counted_lines.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>

#include "platforms/network/topology.hpp"

namespace fourfold::inline platforms::inline network {

namespace {

std::int64_t nodes_of(std::int64_t devices, const Platform& platform) {
  return (devices + platform.node.devices - 1) / platform.node.devices;
}

// For how much of its time a slice has one beside it that is so many before or after it.
double beside(std::int64_t apart, std::int64_t in_flight) {
  if (in_flight == 0) return 1.0;
  return std::max(0.0, 1.0 - static_cast<double>(std::abs(apart)) / static_cast<double>(in_flight));
}

}  // namespace

struct CountedLines::Kept {
  Platform platform;
  std::mutex mutex;
  // By lines, slices and micro-batches in flight; of each slice, then of the slowest.
  std::map<std::array<std::int64_t, 6>, std::vector<Load>> loads;
  // By nodes of a job: what it finds of sets of devices holds for all its lines.
  std::map<std::int64_t, Topology> topologies;

  std::vector<Load> count(AxisLines lines, std::int64_t stride, std::int64_t slices,
                          std::int64_t in_flight) {
    const std::int64_t nodes = nodes_of(lines.devices, platform);
    const Topology& topology = topologies.try_emplace(nodes, platform, nodes).first->second;
    const auto links = static_cast<std::size_t>(topology.link_count());
    std::vector<double> sums(links * static_cast<std::size_t>(slices));  // by slice and link
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
        sums[slice * links + link] += one.share;
      }
    }
    std::vector<Load> result;
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      const auto load_of = [&](std::int32_t link) {
        const auto sum = [&](std::int64_t of) {
          return sums[static_cast<std::size_t>(of) * links + static_cast<std::size_t>(link)];
        };
        if (sum(slice) == 0.0) return 0.0;
        double all = 0.0;
        for (std::int64_t other = 0; other < slices; ++other) {
          all += sum(other) * beside(slice - other, in_flight);
        }
        return all / topology.capacity(link).value;
      };
      result.push_back(busiest(topology, load_of));
    }
    result.push_back(slowest(result));
    return result;
  }

  // The most that any of them has to bear.
  static Load slowest(const std::vector<Load>& loads) {
    std::map<std::int32_t, double> most;
    Load all{loads.front().rate, {}};
    for (const Load& one : loads) {
      all.rate = std::min(all.rate, one.rate);
      for (const LinkShare& share : one.shares) {
        most[share.link] = std::max(most[share.link], share.share);
      }
    }
    for (const auto& [link, share] : most) all.shares.push_back({link, share});
    return all;
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
      {lines.stride, lines.extent, lines.devices, slice.stride, slice.extent, slice.in_flight});
  if (is_new) at->second = kept_->count(lines, slice.stride, slice.extent, slice.in_flight);
  if (slice.index == Slice::slowest) return at->second.back();
  return at->second[static_cast<std::size_t>(slice.index)];
}

}  // namespace fourfold::inline platforms::inline network
