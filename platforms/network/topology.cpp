// Numbering of links, and how rings over any devices turn into loads on them.
#include "platforms/network/topology.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace fourfold::inline platforms::inline network {
namespace {

// A crossbar has no inner links: devices of a node talk through their ports.
Node network_node(const Platform& platform) {
  return std::holds_alternative<CrossbarNetwork>(platform.network) ? Node{} : platform.node;
}

}  // namespace

Topology::Topology(const Platform& platform, std::int64_t nodes, std::size_t channels)
    : name_(platform.name),
      nodes_(nodes),
      devices_per_node_(platform.node.devices),
      nics_per_node_(static_cast<std::int32_t>(platform.node.nics.size())),
      graph_(network_node(platform)) {
  if (nodes < 1 || nodes > platform.nodes) {
    throw std::invalid_argument(fmt::format("{} has {} nodes: a job can use 1 to {}, not {}", name_,
                                            platform.nodes, platform.nodes, nodes));
  }
  if (platform.node.nics.empty()) {
    throw std::invalid_argument(fmt::format("{} needs at least one NIC per node", name_));
  }
  if (devices_per_node_ < 1 || devices_per_node_ > Node::most_devices) {
    throw std::invalid_argument(fmt::format("{} has {} devices per node: 1 to {} are possible",
                                            name_, devices_per_node_, Node::most_devices));
  }
  nic_of_ = nic_of_devices(platform.node);
  for (const InnerLink& link : platform.node.links) inner_classes_.push_back(link.kind);
  for (const Nic& nic : platform.node.nics) nic_capacity_.push_back(nic.bandwidth.value);

  std::int64_t count = 0;
  if (const auto* crossbar = std::get_if<CrossbarNetwork>(&platform.network)) {
    port_per_channel_ = crossbar->private_port_per_lane;
    ports_ = port_per_channel_ ? static_cast<std::int32_t>(channels) : 1;
    count = nodes * devices_per_node_ * ports_ * 2;
  } else {
    const auto unserved = std::find(nic_of_.begin(), nic_of_.end(), -1);
    if (unserved != nic_of_.end()) {
      throw std::invalid_argument(fmt::format("no NIC of {} serves device {}: name it in one",
                                              name_, unserved - nic_of_.begin()));
    }
    fabric_ = fabric_of(platform.network, nics_per_node_, nodes);
    links_per_node_ = graph_.link_count() + 2 * nics_per_node_;
    count = nodes * links_per_node_ +
            std::visit([](const auto& fabric) { return fabric.link_count(); }, *fabric_);
  }
  if (count > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument(
        fmt::format("{} nodes of {} have more links than 32-bit numbers can name", nodes, name_));
  }
  link_count_ = static_cast<std::int32_t>(count);
  fabric_base_ = static_cast<std::int32_t>(nodes * links_per_node_);
}

LinkKind Topology::kind(std::int32_t link) const {
  if (!fabric_) return LinkKind::port;
  if (link >= fabric_base_) {
    return std::visit([&](const auto& fabric) { return fabric.kind(link - fabric_base_); },
                      *fabric_);
  }
  const std::int32_t nic = link % links_per_node_ - graph_.link_count();
  if (nic < 0) return LinkKind::inner;
  return nic < nics_per_node_ ? LinkKind::nic_out : LinkKind::nic_in;
}

BytesPerSecond Topology::capacity(std::int32_t link) const {
  if (!fabric_) return {nic_capacity_.front()};
  if (link >= fabric_base_) {
    return {std::visit([&](const auto& fabric) { return fabric.capacity(link - fabric_base_); },
                       *fabric_)};
  }
  const std::int32_t nic = link % links_per_node_ - graph_.link_count();
  if (nic < 0) return {graph_.capacity(link % links_per_node_)};
  return {nic_capacity_[nic % nics_per_node_]};
}

std::string Topology::link_name(std::int32_t link) const {
  const std::int32_t node = fabric_ ? link / links_per_node_ : 0;
  switch (kind(link)) {
    case LinkKind::port: {
      const std::int32_t port = link / 2 % ports_;
      const std::string which = ports_ > 1 ? fmt::format(" lane {}", port) : "";
      return fmt::format("device {}{} {}", link / 2 / ports_, which, link % 2 == 0 ? "out" : "in");
    }
    case LinkKind::inner:
      return fmt::format("node {} {}", node, graph_.link_name(link % links_per_node_));
    case LinkKind::nic_out:
      return fmt::format("node {} nic {} out", node, link % links_per_node_ - graph_.link_count());
    case LinkKind::nic_in:
      return fmt::format("node {} nic {} in", node,
                         link % links_per_node_ - graph_.link_count() - nics_per_node_);
    default:
      return std::visit([&](const auto& fabric) { return fabric.link_name(link - fabric_base_); },
                        *fabric_);
  }
}

std::string Topology::link_class(std::int32_t link) const {
  switch (kind(link)) {
    case LinkKind::inner: {
      const auto pair = static_cast<std::size_t>(link % links_per_node_ / 2);
      return pair < inner_classes_.size() ? inner_classes_[pair] : "node switch";
    }
    case LinkKind::nic_out:
    case LinkKind::nic_in:
      return "NIC";
    default:
      return name(kind(link));
  }
}

std::int32_t Topology::check(std::int64_t device) const {
  if (device < 0 || device >= devices()) {
    throw std::out_of_range(
        fmt::format("device {} is not in the job: devices are 0..{}", device, devices() - 1));
  }
  return static_cast<std::int32_t>(device);
}

Port Topology::port(std::int64_t device) const {
  const std::int32_t index = check(device);
  return {index / devices_per_node_, nic_of_[index % devices_per_node_]};
}

std::int32_t Topology::port_out(std::int64_t device, ChannelNumber channel) const {
  return (check(device) * ports_ + (port_per_channel_ ? channel : 0)) * 2;
}

void Topology::ring_edge(Port from, Port to, double share, Footprint& footprint) const {
  footprint.push_back({nic_out(from), share});
  std::visit([&](const auto& fabric) { fabric.route(from, to, share, fabric_base_, footprint); },
             *fabric_);
  footprint.push_back({nic_in(to), share});
}

void Topology::route(std::int64_t from, std::int64_t to, Footprint& path) const {
  if (from == to) return;
  if (!fabric_) {
    path.push_back({port_out(from, 0), 1.0});
    path.push_back({port_out(to, 0) + 1, 1.0});
    return;
  }
  const Port a = port(from);
  const Port b = port(to);
  if (a.node != b.node) return ring_edge(a, b, 1.0, path);
  for (std::int32_t link : graph_.path(static_cast<int>(from % devices_per_node_),
                                       static_cast<int>(to % devices_per_node_))) {
    path.push_back({inner_base(a.node) + link, 1.0});
  }
}

void Topology::minimal_route(std::int64_t from, std::int64_t to,
                             std::vector<std::int32_t>& path) const {
  if (from == to) return;
  if (!fabric_) {
    path.push_back(port_out(from, 0));
    path.push_back(port_out(to, 0) + 1);
    return;
  }
  const Port a = port(from);
  const Port b = port(to);
  if (a.node != b.node) {
    path.push_back(nic_out(a));
    std::visit([&](const auto& fabric) { fabric.minimal_route(a, b, fabric_base_, path); },
               *fabric_);
    path.push_back(nic_in(b));
    return;
  }
  for (std::int32_t link : graph_.path(static_cast<int>(from % devices_per_node_),
                                       static_cast<int>(to % devices_per_node_))) {
    path.push_back(inner_base(a.node) + link);
  }
}

const Topology::NodePart& Topology::part(DeviceSet devices) const {
  const auto [entry, is_new] = parts_.try_emplace(devices);
  NodePart& part = entry->second;
  if (is_new) {
    for (DeviceSet left = devices; left != 0; left &= left - 1) ++part.members;
    part.ring_shares = node_rings(graph_, devices).shares;
    for (std::int32_t nic = 0; nic < nics_per_node_; ++nic) {
      for (int device = 0; device < devices_per_node_; ++device) {
        if ((devices >> device & 1U) != 0 && nic_of_[device] == nic) {
          part.nics.push_back(nic);
          break;
        }
      }
    }
  }
  return part;
}

std::vector<Topology::NodeMembers> Topology::by_node(
    const std::vector<std::int64_t>& members) const {
  std::vector<NodeMembers> nodes;
  std::unordered_map<std::int32_t, std::size_t> seen;  // filled once nodes stop ascending
  bool ascending = true;
  for (std::int64_t member : members) {
    const std::int32_t device = check(member);
    const std::int32_t node = device / devices_per_node_;
    const DeviceSet bit = DeviceSet{1} << (device % devices_per_node_);
    if (nodes.empty() || (ascending && node > nodes.back().node)) {
      nodes.push_back({node, bit});
      continue;
    }
    if (node == nodes.back().node) {
      nodes.back().devices |= bit;
      continue;
    }
    if (ascending) {
      for (std::size_t i = 0; i < nodes.size(); ++i) seen.emplace(nodes[i].node, i);
      ascending = false;
    }
    const auto [entry, is_new] = seen.emplace(node, nodes.size());
    if (is_new) {
      nodes.push_back({node, bit});
    } else {
      nodes[entry->second].devices |= bit;
    }
  }
  return nodes;
}

Footprint Topology::ring_footprint(const std::vector<std::int64_t>& members,
                                   ChannelNumber channel) const {
  if (channel < 0 || (port_per_channel_ && channel >= ports_)) {
    throw std::out_of_range(fmt::format("channel {} has no port", channel));
  }
  Footprint footprint;
  if (members.size() < 2) return footprint;
  if (!fabric_) {
    for (std::int64_t member : members) {
      footprint.push_back({port_out(member, channel), 1.0});
      footprint.push_back({port_out(member, channel) + 1, 1.0});
    }
    merge(footprint);
    return footprint;
  }

  const std::vector<NodeMembers> nodes = by_node(members);
  std::vector<const NodePart*> parts;
  std::size_t rings = nics_per_node_;
  for (const NodeMembers& node : nodes) {
    parts.push_back(&part(node.devices));
    rings = std::min(rings, parts.back()->nics.size());
  }
  const double ring_share = 1.0 / static_cast<double>(rings);
  // Ring r's NIC in a node: as many as there are rings, spread over those that serve members.
  const auto ring_port = [&](std::size_t i, std::size_t r) {
    return Port{nodes[i].node, parts[i]->nics[r * parts[i]->nics.size() / rings]};
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double members_here = parts[i]->members;
    const double along = nodes.size() == 1 ? 1.0 : (members_here - 1.0) / members_here;
    for (const LinkShare& inner : parts[i]->ring_shares) {
      footprint.push_back({inner_base(nodes[i].node) + inner.link, inner.share * along});
    }
    if (nodes.size() == 1) break;
    const std::size_t next = i + 1 < nodes.size() ? i + 1 : 0;
    for (std::size_t r = 0; r < rings; ++r) {
      ring_edge(ring_port(i, r), ring_port(next, r), ring_share, footprint);
    }
  }
  merge(footprint);
  return footprint;
}

}  // namespace fourfold::inline platforms::inline network
