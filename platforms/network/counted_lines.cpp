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
  // By lines: the first device of each line, and what its ring loads.
  struct Line {
    std::int64_t first = 0;
    Footprint footprint;
  };
  std::map<std::array<std::int64_t, 3>, std::vector<Line>> lines_of;

  const Topology& topology_of(std::int64_t devices) {
    const std::int64_t nodes = nodes_of(devices, platform);
    return topologies.try_emplace(nodes, platform, nodes).first->second;
  }

  const std::vector<Line>& all_of(AxisLines lines) {
    const auto [at, is_new] = lines_of.try_emplace({lines.stride, lines.extent, lines.devices});
    if (!is_new) return at->second;
    const Topology& topology = topology_of(lines.devices);
    const std::int64_t length = lines.stride * (lines.extent - 1);
    std::vector<std::int64_t> members(static_cast<std::size_t>(lines.extent));
    for (std::int64_t first = 0; first + length < lines.devices; ++first) {
      if (first % (lines.stride * lines.extent) >= lines.stride) continue;
      for (std::size_t i = 0; i < members.size(); ++i) {
        members[i] = first + static_cast<std::int64_t>(i) * lines.stride;
      }
      at->second.push_back({first, topology.ring_footprint(members, 0)});
    }
    return at->second;
  }

  std::vector<Load> count(AxisLines lines, std::int64_t stride, std::int64_t slices,
                          std::int64_t in_flight) {
    const Topology& topology = topology_of(lines.devices);
    const auto links = static_cast<std::size_t>(topology.link_count());
    std::vector<double> sums(links * static_cast<std::size_t>(slices));  // by slice and link
    for (const Line& line : all_of(lines)) {
      const auto slice = static_cast<std::size_t>(line.first / stride % slices);
      for (const LinkShare& one : line.footprint) {
        sums[slice * links + static_cast<std::size_t>(one.link)] += one.share;
      }
    }
    std::vector<Load> result;
    for (std::int64_t slice = 0; slice < slices; ++slice) {
      // Others that are never busy beside it add nothing.
      const std::int64_t reach = in_flight == 0 ? slices : in_flight;
      const std::int64_t from = std::max<std::int64_t>(0, slice - reach + 1);
      const std::int64_t to = std::min(slices, slice + reach);
      const auto load_of = [&](std::int32_t link) {
        const auto sum = [&](std::int64_t of) {
          return sums[static_cast<std::size_t>(of) * links + static_cast<std::size_t>(link)];
        };
        if (sum(slice) == 0.0) return 0.0;
        double all = 0.0;
        for (std::int64_t other = from; other < to; ++other) {
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
      const double load = load_of(link);
      if (load == 0.0) continue;
      std::int32_t number = inside + 1;
      if (topology.kind(link) <= LinkKind::nic_in) {
        number = link % topology.links_per_node();
        if (number >= inside) number -= nics;
      } else if (topology.kind(link) == LinkKind::local) {
        number = inside;
      }
      double& busiest = most[static_cast<std::size_t>(number)];
      busiest = std::max(busiest, load);
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
