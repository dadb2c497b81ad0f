// Whether a network has room for the nodes and paths for its messages, kind by kind.
#include <fmt/format.h>

#include <algorithm>

#include "platforms/check.hpp"

namespace fourfold {
namespace {

void check_kind(const Platform&, const CrossbarNetwork&) {}

void check_kind(const Platform& platform, const DragonflyNetwork& network) {
  const std::int64_t room = network.groups * network.nodes_per_group;
  if (platform.nodes > room) {
    refuse(platform, fmt::format("{} nodes do not fit in {} groups of {} nodes", platform.nodes,
                                 network.groups, network.nodes_per_group));
  }
  if (network.local_detours > std::max<std::int64_t>(0, network.switches_per_group - 2)) {
    refuse(platform, fmt::format("{} local detours need as many switches besides the two ends, but "
                                 "a group has {}",
                                 network.local_detours, network.switches_per_group));
  }
  if (network.global_detours > std::max<std::int64_t>(0, network.groups - 2)) {
    refuse(platform, fmt::format("{} global detours need as many groups besides the two ends, but "
                                 "there are {}",
                                 network.global_detours, network.groups));
  }
}

void check_kind(const Platform& platform, const DragonflyPlusNetwork& network) {
  if (platform.nodes > network.cells * network.nodes_per_cell) {
    refuse(platform, fmt::format("{} nodes do not fit in {} cells of {} nodes", platform.nodes,
                                 network.cells, network.nodes_per_cell));
  }
  if (network.leaves_per_cell > network.nodes_per_cell) {
    refuse(platform, fmt::format("{} leaves of a cell cannot all have one of its {} nodes",
                                 network.leaves_per_cell, network.nodes_per_cell));
  }
  if (network.global_detours > std::max<std::int64_t>(0, network.cells - 2)) {
    refuse(platform, fmt::format("{} global detours need as many cells besides the two ends, but "
                                 "there are {}",
                                 network.global_detours, network.cells));
  }
}

void check_kind(const Platform& platform, const FatTreeNetwork& network) {
  constexpr std::size_t most_tiers = 4;
  if (network.tiers.empty() || network.tiers.size() > most_tiers) {
    refuse(platform, fmt::format("a fat tree has 1 to {} tiers of switches, but network.tiers has "
                                 "{} entries",
                                 most_tiers, network.tiers.size()));
  }
  const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
  if (nics % network.rails != 0) {
    refuse(platform,
           fmt::format("the {} NICs of a node do not divide over {} rails", nics, network.rails));
  }
  if (network.rails > 1 && network.tiers.size() == 1) {
    refuse(platform,
           fmt::format("{} rails need a second tier of switches that joins them", network.rails));
  }
  double room = 1.0;
  for (const FatTreeTier& tier : network.tiers) room *= static_cast<double>(tier.members);
  if (static_cast<double>(platform.nodes) > room) {
    refuse(platform,
           fmt::format("{} nodes do not fit in a fat tree for {:g}", platform.nodes, room));
  }
}

void check_kind(const Platform& platform, const TorusNetwork& network) {
  if (network.extents.empty()) refuse(platform, "a torus needs at least one dimension");
  double room = 1.0;
  for (std::int64_t extent : network.extents) {
    if (extent < 2) {
      refuse(platform, fmt::format("a dimension of {} routers is none: it needs 2", extent));
    }
    room *= static_cast<double>(extent);
  }
  if (static_cast<double>(platform.nodes) > room) {
    refuse(platform, fmt::format("{} nodes do not fit in a torus of {:g}", platform.nodes, room));
  }
}

}  // namespace

void check_network(const Platform& platform) {
  std::visit([&](const auto& network) { check_kind(platform, network); }, platform.network);
}

}  // namespace fourfold
