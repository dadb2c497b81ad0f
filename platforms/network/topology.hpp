// The links of a machine and the way a message takes through them, by arithmetic: no tables that
// grow with the square of the machine. Devices are numbered node by node.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <map>
#include <vector>

#include "platforms/network/fabric.hpp"
#include "platforms/network/link.hpp"
#include "platforms/node/node_graph.hpp"
#include "platforms/node/rings.hpp"
#include "platforms/platform.hpp"
#include "schedule/program/channel.hpp"

namespace fourfold::inline platforms::inline network {

// Per node its directed inner links, then its NICs out, then its NICs in; after all nodes the
// fabric. Crossbar, which has no fabric: per device (and channel) a port out and a port in,
// capacity of nics[0]; inner links play no part there.
//
// Not for concurrent use: the rings of a set of devices in a node are searched on first need.
class Topology {
 public:
  // Links of the first `nodes` nodes of the platform and of what their messages may cross, for a
  // job with so many channels. The Platform must outlive the Topology. Throws std::invalid_argument
  // if nodes exceeds the machine.
  Topology(const Platform& platform, std::int64_t nodes, std::size_t channels = 1);

  std::int64_t devices() const { return nodes_ * devices_per_node_; }
  std::int32_t link_count() const { return link_count_; }
  std::int32_t links_per_node() const { return links_per_node_; }  // inner ones, NICs out and in
  std::int32_t ports() const { return ports_; }  // per device and direction, crossbar only
  BytesPerSecond capacity(std::int32_t link) const;
  LinkKind kind(std::int32_t link) const;
  std::string link_name(std::int32_t link) const;  // "node 17 nic 2 out", "group 3 -> group 9"
  // What people tell apart, directions not: "in-package x4", "NIC", "global".
  std::string link_class(std::int32_t link) const;

  // Appends the path of a message between two devices, with fractions over detours. `minimal` is
  // the single path of minimal routing: every share is 1. On a crossbar both use port 0.
  void route(std::int64_t from, std::int64_t to, Footprint& path) const;
  void minimal_route(std::int64_t from, std::int64_t to, std::vector<std::int32_t>& path) const;

  // What a ring over `members` (devices, in ring order as given by the process grid line) loads, as
  // the collective library would build it: several rings, each entering and leaving a node through
  // another NIC; inside a node the rings of `node_rings`. Shares are merged by link and sorted.
  // `channel` matters only on a crossbar with private ports.
  //
  // Over several nodes there are as many rings as the node with fewest NICs among its members has:
  // more rings than that would share NICs, fewer would leave some idle. A node with m members loads
  // its inner links by (m-1)/m of its own rings' shares: a path through m devices, not a cycle.
  Footprint ring_footprint(const std::vector<std::int64_t>& members, ChannelNumber channel) const;

 private:
  // What a set of devices of one node has: computed once per set, the same for all nodes.
  struct NodePart {
    int members = 0;
    std::vector<std::int32_t> nics;  // those that serve a member, each once
    Footprint ring_shares;           // of node_rings
  };
  struct NodeMembers {
    std::int32_t node = 0;
    DeviceSet devices = 0;
  };

  const NodePart& part(DeviceSet devices) const;
  std::vector<NodeMembers> by_node(const std::vector<std::int64_t>& members) const;
  Port port(std::int64_t device) const;
  std::int32_t check(std::int64_t device) const;

  std::int32_t inner_base(std::int32_t node) const { return node * links_per_node_; }
  std::int32_t nic_out(Port port) const {
    return port.node * links_per_node_ + graph_.link_count() + port.nic;
  }
  std::int32_t nic_in(Port port) const { return nic_out(port) + nics_per_node_; }
  std::int32_t port_out(std::int64_t device, ChannelNumber channel) const;
  void ring_edge(Port from, Port to, double share, Footprint& footprint) const;

  std::string name_;
  std::int64_t nodes_;
  std::int32_t devices_per_node_;
  std::int32_t nics_per_node_;
  bool port_per_channel_ = false;
  std::int32_t ports_ = 1;
  std::vector<double> nic_capacity_;
  std::vector<std::int32_t> nic_of_;  // of each device of a node
  NodeGraph graph_;
  std::vector<std::string> inner_classes_;  // of the node's links, both directions one entry
  std::int32_t links_per_node_ = 0;
  std::int32_t fabric_base_ = 0;  // first link of the fabric
  std::optional<Fabric> fabric_;
  std::int32_t link_count_ = 0;
  mutable std::map<DeviceSet, NodePart> parts_;
};

}  // namespace fourfold::inline platforms::inline network
