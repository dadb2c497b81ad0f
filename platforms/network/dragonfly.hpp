// The dragonfly between the NICs: groups of fully connected switches, every pair of groups joined
// directly. All places and paths are arithmetic on indices; nothing is stored per node or link.
//
//        group a                          group b
//   NIC -> switch s -> gateway ====> gateway -> switch t -> NIC      minimal
//   NIC -> switch s -> gateway => (group v) => gateway -> switch t -> NIC      global detour
//   NIC -> switch s -> switch v -> switch t -> NIC      local detour, inside one group
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/network/link.hpp"
#include "platforms/network/network.hpp"

namespace fourfold::inline platforms::inline network {

// Placement: the nodes of a chassis share as many switches as a node has NICs, NIC k of each on
// switch k of the chassis (Frontier: 16 nodes, 4 switches).
//
// The parallel links of a group pair are one bundle with their summed capacity: adaptive routing
// balances parallel links, and no flow is wider than one of them, because NICs are not. The links
// still end on different switches (gateways), dealt out in turn, so that local hops are spread; the
// next group's first, in the middle of the group, because a packed job leaves it at its ends.
//
// Detours: a message takes equal shares of the minimal path and of its detours. Which switches or
// groups it goes through rotates with the pair and with the sending node, so that the detours of
// many messages load all links evenly. The hop between the two gateways of a group passed through
// is left out: that traffic meets links_per_group_pair^2 local links there (gateway to gateway)
// after crossing bundles of links_per_group_pair, so it binds at the bundles first.
class Dragonfly {
 public:
  // Throws std::invalid_argument on impossible numbers or more nodes than the groups hold.
  Dragonfly(const DragonflyNetwork& network, std::int64_t nics_per_node, std::int64_t nodes);

  // Local links of the groups that hold nodes of the job, then a bundle per ordered group pair of
  // the whole machine.
  std::int32_t link_count() const { return local_count_ + groups_ * (groups_ - 1); }
  LinkKind kind(std::int32_t link) const {
    return link >= local_count_ ? LinkKind::global : LinkKind::local;
  }
  double capacity(std::int32_t link) const {
    return link >= local_count_ ? bundle_capacity_ : link_capacity_;
  }
  std::string link_name(std::int32_t link) const;

  // Both append the network's own links, numbered from `first`; the NICs are the caller's.
  void route(Port from, Port to, double share, std::int32_t first, Footprint& path) const;
  void minimal_route(Port from, Port to, std::int32_t first, std::vector<std::int32_t>& path) const;

  std::int32_t groups() const { return groups_; }
  std::int32_t switches_per_group() const { return switches_; }
  std::int32_t nodes_per_group() const { return nodes_per_group_; }
  std::int32_t nodes_per_chassis() const { return nodes_per_chassis_; }
  std::int32_t local_detours() const { return local_detours_; }  // no more than there are switches
  std::int32_t global_detours() const { return global_detours_; }  // no more than there are groups
  double link_capacity() const { return link_capacity_; }          // bytes/s
  double bundle_capacity() const { return bundle_capacity_; }

  std::int32_t group(std::int32_t node) const { return node / nodes_per_group_; }
  // Of the switches of its group.
  std::int32_t switch_of(Port port) const {
    const std::int64_t place = std::int64_t{port.node % nodes_per_group_} * nics_ + port.nic;
    return place_[static_cast<std::size_t>(place)];
  }

 private:
  std::int32_t local(std::int32_t group, std::int32_t from, std::int32_t to) const {
    return (group * switches_ + from) * (switches_ - 1) + (to > from ? to - 1 : to);
  }
  std::int32_t global(std::int32_t from, std::int32_t to) const {
    return local_count_ + from * (groups_ - 1) + (to > from ? to - 1 : to);
  }
  // The switch of `group` where cable `cable` of the bundle to `peer` ends.
  std::int32_t gateway(std::int32_t group, std::int32_t peer, std::int32_t cable) const {
    const std::int32_t distance = peer > group ? peer - group : peer - group + groups_;
    return (switches_ / 2 + (distance - 1) * cables_ + cable) % switches_;
  }
  void route_in_group(Port from, Port to, double share, std::int32_t first, Footprint& path) const;

  std::int32_t groups_, switches_, nodes_per_group_, cables_, nics_;
  std::int32_t nodes_per_chassis_ = 1;
  std::int32_t local_count_ = 0;
  std::int32_t local_detours_, global_detours_;
  double link_capacity_, bundle_capacity_;
  std::vector<std::int32_t> place_;  // switch of each (node of a group, NIC)
};

}  // namespace fourfold::inline platforms::inline network
