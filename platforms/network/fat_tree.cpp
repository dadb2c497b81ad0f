// Numbering of bundles and the walk up to the lowest common part and down again.
#include "platforms/network/fat_tree.hpp"

#include <fmt/core.h>

#include <limits>
#include <stdexcept>

namespace fourfold::inline platforms::inline network {
namespace {

constexpr std::size_t most_tiers = 4;

}  // namespace

FatTree::FatTree(const FatTreeNetwork& network, std::int64_t nics_per_node, std::int64_t nodes)
    : rails_(static_cast<std::int32_t>(network.rails)) {
  if (network.tiers.empty() || network.tiers.size() > most_tiers) {
    throw std::invalid_argument(fmt::format("a fat tree has 1 to {} tiers of switches, not {}",
                                            most_tiers, network.tiers.size()));
  }
  if (network.rails < 1 || nics_per_node % network.rails != 0) {
    throw std::invalid_argument(fmt::format("the {} NICs of a node do not divide over {} rails",
                                            nics_per_node, network.rails));
  }
  if (network.rails > 1 && network.tiers.size() == 1) {
    throw std::invalid_argument("a fat tree with rails needs a second tier that joins them");
  }
  if (!(network.link_bandwidth.value > 0.0)) {
    throw std::invalid_argument("network.link_bandwidth must be above zero");
  }
  std::int64_t below = 1;
  std::int64_t links = 0;
  const std::int64_t nics_a_rail = nics_per_node / network.rails;
  double capacity = network.link_bandwidth.value * static_cast<double>(nics_a_rail);
  for (std::size_t tier = 0; tier < network.tiers.size(); ++tier) {
    const FatTreeTier& given = network.tiers[tier];
    if (given.members < 1 || !(given.oversubscription > 0.0)) {
      throw std::invalid_argument(
          fmt::format("tier {} of the fat tree needs at least one member and an oversubscription "
                      "above zero",
                      tier + 1));
    }
    below *= given.members;
    capacity *= static_cast<double>(given.members) / given.oversubscription;
    if (links > std::numeric_limits<std::int32_t>::max() ||
        below > std::numeric_limits<std::int32_t>::max()) {
      throw std::invalid_argument("the network has more links than 32-bit numbers can name");
    }
    levels_.push_back({below, capacity, static_cast<std::int32_t>(links)});
    links += (nodes + below - 1) / below * (tier == 0 ? network.rails : 1) * 2;
    if (tier == 0) capacity *= static_cast<double>(network.rails);
  }
  if (nodes > below) {
    throw std::invalid_argument(
        fmt::format("{} nodes do not fit: the fat tree holds {}", nodes, below));
  }
}

std::int32_t FatTree::part(int tier, Port port) const {
  const auto unit = static_cast<std::int32_t>(port.node / levels_[tier].nodes);
  return tier == 0 ? unit * rails_ + rail(port.nic) : unit;
}

int FatTree::level_of(std::int32_t link) const {
  int tier = 0;
  while (tier + 1 < linked_tiers() && link >= levels_[tier + 1].first) ++tier;
  return tier;
}

LinkKind FatTree::kind(std::int32_t link) const {
  constexpr LinkKind kinds[] = {LinkKind::leaf, LinkKind::spine, LinkKind::core};
  return kinds[level_of(link)];
}

double FatTree::capacity(std::int32_t link) const {
  return levels_[level_of(link)].capacity;
}

std::string FatTree::link_name(std::int32_t link) const {
  const int tier = level_of(link);
  const std::int32_t index = (link - levels_[tier].first) / 2;
  const char* way = (link - levels_[tier].first) % 2 == 0 ? "up" : "down";
  if (tier > 0) return fmt::format("{} {} {}", tier == 1 ? "pod" : "zone", index, way);
  if (rails_ == 1) return fmt::format("leaf {} {}", index, way);
  return fmt::format("unit {} rail {} {}", index / rails_, index % rails_, way);
}

template <typename Visitor>
void FatTree::walk(Port from, Port to, Visitor visit) const {
  int top = 0;
  while (top < linked_tiers() && part(top, from) != part(top, to)) {
    visit(levels_[top].first + 2 * part(top, from));
    ++top;
  }
  while (top-- > 0) visit(levels_[top].first + 2 * part(top, to) + 1);
}

void FatTree::route(Port from, Port to, double share, std::int32_t first, Footprint& path) const {
  walk(from, to, [&](std::int32_t link) { path.push_back({first + link, share}); });
}

void FatTree::minimal_route(Port from, Port to, std::int32_t first,
                            std::vector<std::int32_t>& path) const {
  walk(from, to, [&](std::int32_t link) { path.push_back(first + link); });
}

}  // namespace fourfold::inline platforms::inline network
