// Counting flows over the busiest link of each kind; a "flow" is one hop of one line at unit rate.
#include "platforms/network/dragonfly_rate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "platforms/network/fat_tree_rate.hpp"
#include "platforms/node/node_graph.hpp"

namespace fourfold::inline platforms::inline network {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// The job cut into bins (chassis, groups) of `bin` devices, lines in blocks of stride * extent: the
// most hops of one shift by `stride` that cross a boundary between two bins. A boundary at offset x
// of a block of length b is crossed by min(stride, x, b - x) of its hops.
std::int64_t boundary_hops(std::int64_t bin, std::int64_t stride, std::int64_t block,
                           std::int64_t devices) {
  constexpr int boundaries_tried = 64;
  const std::int64_t step = bin % block;
  std::int64_t most = 0;
  std::int64_t offset = 0;
  std::int64_t boundary = bin;
  for (int i = 0; i < boundaries_tried && boundary < devices && most < stride; ++i) {
    offset += step;
    if (offset >= block) offset -= block;
    if (offset == 0) break;  // from here on the pattern repeats
    most = std::max(most, std::min({stride, offset, block - offset}));
    boundary += bin;
  }
  return most;
}

// Of `bin` devices that all move on by `shift` >= bin, the most that meet again in one bin.
std::int64_t pair_hops(std::int64_t bin, std::int64_t shift) {
  const std::int64_t beyond = shift % bin;
  return std::max(bin - beyond, beyond);
}

// Where blocks end inside bins, a bin sends both on (the next line) and back (the end of the last).
// Of the two ends of a link between bins this many have such other flows: 1 with long blocks, 1 to
// 2 with short ones, for which the middle stands.
constexpr double short_block_sides = 1.5;

double sides(std::int64_t bin, std::int64_t block, std::int64_t devices) {
  if (block % bin == 0 || block == devices) return 0.0;
  return block < 2 * bin ? short_block_sides : 1.0;
}

// Where m messages on average meet on a link by their detours, some links get m + 1.5 sqrt(m).
constexpr double by_chance = 1.5;

}  // namespace

DragonflyRates::DragonflyRates(const Node& node, const DragonflyNetwork& network)
    : devices_per_node_(node.devices),
      dragonfly_(network, static_cast<std::int64_t>(node.nics.size()), 1),
      nic_of_(nic_of_devices(node)) {}

// The busiest pair of switches when every device d of every node sends to d + shift; only for
// shifts of a node or more. `inside` weighs hops within a chassis, `between` hops that leave it.
double DragonflyRates::shifted_pair(std::int64_t shift, double inside, double between) const {
  const std::int64_t nodes = dragonfly_.nodes_per_chassis();
  const std::int64_t chassis = divide_up(dragonfly_.nodes_per_group(), nodes);
  const std::int64_t nearest = shift / devices_per_node_ / nodes;
  // By sending NIC, receiving NIC and chassis passed beyond `nearest`.
  const std::size_t nics =
      static_cast<std::size_t>(*std::max_element(nic_of_.begin(), nic_of_.end())) + 1;
  std::vector<double> flows(nics * nics * 3);
  double most = 0.0;
  for (std::int64_t device = 0; device < devices_per_node_; ++device) {
    const std::int64_t target = device + shift;
    const std::int64_t hop = target / devices_per_node_;
    const std::int32_t from = nic_of_[device];
    const std::int32_t to = nic_of_[target % devices_per_node_];
    const std::int64_t beyond = hop % nodes;
    for (std::int64_t step = 0; step < 2; ++step) {
      const std::int64_t passed = hop / nodes + step;
      const std::int64_t count = step == 0 ? nodes - beyond : beyond;
      if (passed >= chassis || (passed == 0 && from == to)) continue;
      double& pair = flows[(from * nics + to) * 3 + (passed - nearest)];
      pair += static_cast<double>(count) * (passed == 0 ? inside : between);
      most = std::max(most, pair);
    }
  }
  return most;
}

DragonflyRates::Flows DragonflyRates::local_flows(AxisLines lines, const NodeLoad& node) const {
  const auto [stride, extent, devices] = lines;
  const std::int64_t d = devices_per_node_;
  const std::int64_t nodes = dragonfly_.nodes_per_chassis();
  const std::int64_t chassis = nodes * d;
  const std::int64_t block = stride * extent;
  const double nodes_here = static_cast<double>(std::min(nodes, divide_up(devices, d)));
  const double of_switch = node.nic * nodes_here;  // flows through all NICs of one switch
  const auto off_rail = [&](double pair) {
    return Flows{pair, short_block_sides * std::max(0.0, of_switch - pair), by_chance};
  };

  if (stride >= chassis) {
    const std::int64_t group = dragonfly_.nodes_per_group() * d;
    double pair = 0.0;
    for (std::int64_t shift : {stride, stride * (extent - 1)}) {
      if (shift < group) pair = std::max(pair, shifted_pair(shift, 1.0, 1.0));
    }
    // Whole chassis that send to whole chassis of the same group spread their detours evenly.
    const bool even = stride % chassis == 0 && block <= group && group % block == 0;
    const double others = pair > 0.0 ? 2 * std::max(0.0, of_switch - pair) : 0.0;
    return {pair, others, even ? 0.0 : by_chance};
  }
  const std::int64_t crossing = boundary_hops(chassis, stride, block, devices);
  if (stride >= d && stride % d != 0) {
    // A hop back to the start of its line that shifts NICs like a hop on adds to the same pair.
    const double e = static_cast<double>(extent);
    const double hops_on = block % d == 0 ? 1.0 : (e - 1.0) / e;
    return off_rail(shifted_pair(stride, hops_on * nodes_here / static_cast<double>(nodes),
                                 crossing > 0 ? 1.0 : 0.0));
  }
  // A hop of a stride below a node goes to the next node, whatever the stride.
  const double hops = static_cast<double>(stride < d ? d : crossing) / static_cast<double>(d);
  const double between = crossing > 0 ? node.nic * hops : 0.0;
  const double within = node.off_rail * (crossing > 0 ? nodes_here - 1 : nodes_here);
  if (within > between) return off_rail(within);
  return {between, sides(chassis, block, devices) * between, by_chance};
}

// The busiest link is that of the busiest pair, with the direct share of its flows and detours of
// others, or, with very many detours, one that carries nothing but detours.
double DragonflyRates::local_load(Flows flows) const {
  const double detours = dragonfly_.local_detours();
  const double part = detours / std::max(dragonfly_.switches_per_group() - 2, 1);
  const auto busiest = [&flows](double met) { return met + flows.chance * std::sqrt(met); };
  return std::max(flows.pair + busiest(flows.others * part), busiest(2 * flows.pair * part)) /
         (detours + 1);
}

// Strides below a group: every group hands lines on to the next, and back where blocks end. The
// link from one to the next has the direct share of those, and detours of all else that leaves the
// one or reaches the other; links between other pairs have nothing but detours. `part` is the
// chance of a detour to go over a given group.
double DragonflyRates::neighbours_load(AxisLines lines, double part) const {
  constexpr int groups_tried = 64;
  const std::int64_t group = dragonfly_.nodes_per_group() * devices_per_node_;
  const std::int64_t block = lines.stride * lines.extent;
  double most = 0.0;
  double before = static_cast<double>(lines_leaving(0, group, lines));
  double most_before = 0.0;  // of the groups that are no neighbours of the next
  std::int64_t boundary = group;
  for (int i = 0; i < groups_tried && boundary < lines.devices; ++i) {
    const std::int64_t offset = boundary % block;
    const auto hops = static_cast<double>(std::min({lines.stride, offset, block - offset}));
    const auto after = static_cast<double>(
        lines_leaving(boundary, std::min(boundary + group, lines.devices), lines));
    most =
        std::max({most, hops + part * (before + after - 2 * hops), part * (after + most_before)});
    most_before = std::max(most_before, before);
    before = after;
    boundary += group;
  }
  return most;
}

double DragonflyRates::global_load(AxisLines lines) const {
  const auto [stride, extent, devices] = lines;
  const std::int64_t group = dragonfly_.nodes_per_group() * devices_per_node_;
  const std::int64_t groups_used = divide_up(devices, group);
  if (groups_used < 2) return 0.0;
  const double detours = dragonfly_.global_detours();
  const double part = detours / std::max(dragonfly_.groups() - 2, 1);
  if (stride < group) return neighbours_load(lines, part) / (detours + 1);
  const std::int64_t back = stride * (extent - 1);
  const auto all = static_cast<double>(group);
  const auto pair = static_cast<double>(std::max(pair_hops(group, stride), pair_hops(group, back)));
  // Flows that leave one group plus those that reach another, over all pairs but the busiest: what
  // loads the link between those two with detours. Needs a third group.
  const double ends = (groups_used > 2 ? 2 : 1) * all;
  return std::max(pair + 2 * (all - pair) * part, ends * part) / (detours + 1);
}

double DragonflyRates::rate(AxisLines lines, const NodeLoad& node) const {
  return std::min({node.rate, within_groups(lines, node), between_groups(lines)});
}

double DragonflyRates::within_groups(AxisLines lines, const NodeLoad& node) const {
  const double load = local_load(local_flows(lines, node));
  return load > 0.0 ? dragonfly_.link_capacity() / load : std::numeric_limits<double>::infinity();
}

double DragonflyRates::between_groups(AxisLines lines) const {
  const double load = global_load(lines);
  return load > 0.0 ? dragonfly_.bundle_capacity() / load : std::numeric_limits<double>::infinity();
}

}  // namespace fourfold::inline platforms::inline network
