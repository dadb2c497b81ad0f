// Rebuilds a ring from single transfers and checks that nothing was left out or added.
#include "sim/replay/strands.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <variant>

#include "schedule/collectives/counts.hpp"

namespace fourfold::inline sim::inline replay {

namespace {

constexpr double share_tolerance = 1e-9;

// The members on one node, and the NICs that serve them with one member each.
struct NodeMembers {
  std::int64_t node = 0;
  std::vector<std::int64_t> devices;
  std::vector<std::int64_t> device_of_nic;  // ascending NICs
};

std::vector<NodeMembers> by_node(const Platform& platform,
                                 const std::vector<std::int64_t>& members) {
  std::vector<NodeMembers> nodes;
  for (std::int64_t member : members) {
    const std::int64_t node = member / platform.node.devices;
    const auto same = [node](const NodeMembers& one) { return one.node == node; };
    auto found = std::find_if(nodes.begin(), nodes.end(), same);
    if (found == nodes.end()) found = nodes.insert(found, {node, {}, {}});
    found->devices.push_back(member);
  }
  const std::vector<std::int32_t> nic_of = nic_of_devices(platform.node);
  for (NodeMembers& one : nodes) {
    std::sort(one.devices.begin(), one.devices.end());
    for (std::int32_t nic = 0; nic < static_cast<std::int32_t>(platform.node.nics.size()); ++nic) {
      const auto served = [&](std::int64_t device) {
        return nic_of[device % platform.node.devices] == nic;
      };
      const auto first = std::find_if(one.devices.begin(), one.devices.end(), served);
      if (first != one.devices.end()) one.device_of_nic.push_back(*first);
    }
  }
  return nodes;
}

double along_node(const NodeMembers& node, std::size_t node_count) {
  const auto here = static_cast<double>(node.devices.size());
  return node_count == 1 ? 1.0 : (here - 1.0) / here;
}

// From device to device inside a node, one per link; none where its devices meet in a switch.
std::optional<std::vector<Strand>> inner_strands(const NodeGraph& graph, const NodeMembers& node,
                                                 double along, std::int64_t devices_per_node) {
  DeviceSet set = 0;
  for (std::int64_t device : node.devices) set |= DeviceSet{1} << (device % devices_per_node);
  const std::int64_t first_device = node.node * devices_per_node;
  std::vector<Strand> strands;
  for (const LinkShare& entry : node_rings(graph, set).shares) {
    if (std::max(graph.from(entry.link), graph.to(entry.link)) >= devices_per_node) {
      return std::nullopt;
    }
    strands.push_back({first_device + graph.from(entry.link),
                       first_device + graph.to(entry.link),
                       {},
                       entry.share * along});
  }
  return strands;
}

// From each node to the next, one per ring.
std::vector<Strand> strands_across(const std::vector<NodeMembers>& nodes, std::size_t rings) {
  std::vector<Strand> strands;
  if (nodes.size() == 1) return strands;
  for (const NodeMembers& node : nodes) rings = std::min(rings, node.device_of_nic.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeMembers& next = nodes[(i + 1) % nodes.size()];
    for (std::size_t r = 0; r < rings; ++r) {
      const auto end = [&](const NodeMembers& node) {
        return node.device_of_nic[r * node.device_of_nic.size() / rings];
      };
      strands.push_back({end(nodes[i]), end(next), {}, 1.0 / static_cast<double>(rings)});
    }
  }
  return strands;
}

bool adds_up(const std::vector<Footprint>& parts, const Footprint& whole) {
  Footprint sum;
  for (const Footprint& part : parts) sum.insert(sum.end(), part.begin(), part.end());
  merge(sum);
  return std::ranges::equal(sum, whole, [](const LinkShare& a, const LinkShare& b) {
    return a.link == b.link && std::abs(a.share - b.share) <= share_tolerance * b.share;
  });
}

std::vector<Strand> crossbar_strands(const Topology& topology,
                                     const std::vector<std::int64_t>& members,
                                     ChannelNumber channel) {
  std::vector<Strand> strands;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::int64_t from = members[i];
    const std::int64_t to = members[(i + 1) % members.size()];
    const Footprint ports = topology.ring_footprint({from, to}, channel);  // of the lower one first
    const std::size_t lower = from < to ? 0 : 2;
    strands.push_back({from, to, {ports[lower].link, ports[3 - lower].link}, 1.0});
  }
  return strands;
}

std::vector<Strand> node_strands(const Topology& topology, const Platform& platform,
                                 const std::vector<std::int64_t>& members) {
  const NodeGraph graph(platform.node);
  const std::vector<NodeMembers> nodes = by_node(platform, members);
  std::vector<Strand> strands = strands_across(nodes, platform.node.nics.size());
  for (const NodeMembers& node : nodes) {
    const auto inner =
        inner_strands(graph, node, along_node(node, nodes.size()), platform.node.devices);
    if (!inner) {
      throw std::invalid_argument(
          "Stock communications go from device to device, but the devices of a node of this "
          "platform meet in a switch: replay it in the default fidelity.");
    }
    strands.insert(strands.end(), inner->begin(), inner->end());
  }
  for (Strand& strand : strands) topology.minimal_route(strand.from, strand.to, strand.links);
  return strands;
}

std::vector<Footprint> footprints_of(const std::vector<Strand>& strands) {
  std::vector<Footprint> footprints;
  for (const Strand& strand : strands) {
    Footprint& footprint = footprints.emplace_back();
    for (std::int32_t link : strand.links) footprint.push_back({link, strand.share});
    merge(footprint);
  }
  return footprints;
}

std::vector<Footprint> node_parts(const Topology& topology, const Platform& platform,
                                  const std::vector<std::int64_t>& members, ChannelNumber channel) {
  const NodeGraph graph(platform.node);
  const std::vector<NodeMembers> nodes = by_node(platform, members);
  std::vector<Strand> strands = strands_across(nodes, platform.node.nics.size());
  std::vector<Footprint> parts;
  for (const NodeMembers& node : nodes) {
    const double along = along_node(node, nodes.size());
    if (const auto inner = inner_strands(graph, node, along, platform.node.devices)) {
      strands.insert(strands.end(), inner->begin(), inner->end());
      continue;
    }
    parts.push_back(topology.ring_footprint(node.devices, channel));
    for (LinkShare& entry : parts.back()) entry.share *= along;
    if (parts.back().empty()) parts.pop_back();
  }
  for (const Strand& strand : strands) {
    Footprint& part = parts.emplace_back();
    topology.route(strand.from, strand.to, part);
    for (LinkShare& entry : part) entry.share *= strand.share;
    merge(part);
  }
  return parts;
}

}  // namespace

std::int32_t ring_steps(CollectiveKind kind, std::int64_t members) {
  if (!row_of(kind).algorithms.contains(CollectiveAlgorithm::ring)) return 1;
  const GroupShape in_one_node{members, 1, 1};
  return static_cast<std::int32_t>(
      counts(kind, CollectiveAlgorithm::ring, in_one_node).hops_in_node);
}

namespace {

bool has_ports(const Platform& platform) {
  return std::holds_alternative<CrossbarNetwork>(platform.network);
}

void refuse_several_paths(const std::vector<Strand>& strands, const Footprint& whole,
                          const Platform& platform) {
  if (adds_up(footprints_of(strands), whole)) return;
  throw std::invalid_argument(
      "A stock communication takes one path, but " + platform.name +
      " spreads messages over several: these fidelities need a platform file with "
      "local_detours = 0 and global_detours = 0 under [network].");
}

}  // namespace

std::vector<Strand> ring_strands(const Topology& topology, const Platform& platform,
                                 const std::vector<std::int64_t>& members, ChannelNumber channel) {
  if (members.size() < 2) return {};
  std::vector<Strand> strands = has_ports(platform) ? crossbar_strands(topology, members, channel)
                                                    : node_strands(topology, platform, members);
  refuse_several_paths(strands, topology.ring_footprint(members, channel), platform);
  return strands;
}

Footprint message_footprint(const Topology& topology, const Platform& platform, MessageEnds ends,
                            ChannelNumber channel) {
  if (has_ports(platform)) {
    return footprints_of({crossbar_strands(topology, {ends.from, ends.to}, channel).front()})
        .front();
  }
  Footprint footprint;
  topology.route(ends.from, ends.to, footprint);
  merge(footprint);
  return footprint;
}

std::vector<Strand> message_strands(const Topology& topology, const Platform& platform,
                                    MessageEnds ends, ChannelNumber channel) {
  if (has_ports(platform)) {
    return {crossbar_strands(topology, {ends.from, ends.to}, channel).front()};
  }
  std::vector<Strand> strands{{ends.from, ends.to, {}, 1.0}};
  topology.minimal_route(ends.from, ends.to, strands.front().links);
  refuse_several_paths(strands, message_footprint(topology, platform, ends, channel), platform);
  return strands;
}

std::vector<Strand> exchange_strands(const Topology& topology, const Platform& platform,
                                     Motion motion, const std::vector<std::int64_t>& members,
                                     ChannelNumber channel) {
  const std::size_t n = members.size();
  const bool all = motion == Motion::pairs;
  const double share = 1.0 / static_cast<double>(std::min<std::size_t>(n - 1, all ? n : 2));
  std::vector<Strand> strands;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      const std::size_t apart = a < b ? b - a : a - b;
      if (apart == 0 || (!all && apart > 1)) continue;
      for (Strand strand : message_strands(topology, platform, {members[a], members[b]}, channel)) {
        strand.share = share;
        strands.push_back(std::move(strand));
      }
    }
  }
  return strands;
}

std::vector<Footprint> ring_parts(const Topology& topology, const Platform& platform,
                                  const std::vector<std::int64_t>& members, ChannelNumber channel) {
  if (members.size() < 2) return {};
  std::vector<Footprint> parts = has_ports(platform)
                                     ? footprints_of(crossbar_strands(topology, members, channel))
                                     : node_parts(topology, platform, members, channel);
  if (!adds_up(parts, topology.ring_footprint(members, channel))) {
    throw std::logic_error("The parts of a ring do not add up to what it loads.");
  }
  return parts;
}

}  // namespace fourfold::inline sim::inline replay
