// A fat tree: leaf switches over the nodes, switches over those, tier by tier to the root. Places
// and paths are arithmetic on indices.
//
//   NIC -> leaf ==> spine ==> core ==> spine ==> leaf -> NIC      up as far as needed, then down
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/network/link.hpp"
#include "platforms/network/network.hpp"

namespace fourfold::inline platforms::inline network {

// A part of tier t is what hangs below one set of its switches: the parts of tier 1 are a leaf each
// (with rails: the leaf of one rail in a unit of nodes), those of tier 2 are pods.
//
// All links up from a part are one bundle with their summed capacity, and all links down to it
// another: adaptive routing, or hashing over many flows, balances parallel links, and no flow is
// wider than one of them. So there is one path between two NICs and nothing to spread over.
class FatTree {
 public:
  // Throws std::invalid_argument on impossible numbers or more nodes than the tree holds.
  FatTree(const FatTreeNetwork& network, std::int64_t nics_per_node, std::int64_t nodes);

  // Tier by tier, of the parts that hold nodes of the job: a bundle up and one down each.
  std::int32_t link_count() const { return levels_.back().first; }
  LinkKind kind(std::int32_t link) const;
  double capacity(std::int32_t link) const;
  std::string link_name(std::int32_t link) const;  // "leaf 3 up", "unit 2 rail 5 down", "pod 1 up"

  // Both append the network's own links, numbered from `first`; the NICs are the caller's.
  void route(Port from, Port to, double share, std::int32_t first, Footprint& path) const;
  void minimal_route(Port from, Port to, std::int32_t first, std::vector<std::int32_t>& path) const;

  // Tiers that have links up: one fewer than there are tiers of switches.
  int linked_tiers() const { return static_cast<int>(levels_.size()) - 1; }
  std::int32_t rails() const { return rails_; }
  std::int32_t rail(std::int32_t nic) const { return nic % rails_; }
  std::int64_t nodes_below(int tier) const { return levels_[tier].nodes; }
  double up_capacity(int tier) const { return levels_[tier].capacity; }  // bytes/s of one bundle

 private:
  struct Level {
    std::int64_t nodes = 0;  // below one part (tier 0: one unit, whatever its rails)
    double capacity = 0.0;   // of one bundle
    std::int32_t first = 0;  // its first link; of the root, the number of all links
  };
  std::int32_t part(int tier, Port port) const;
  int level_of(std::int32_t link) const;
  // Visits the bundles from one port to another in the order a message crosses them.
  template <typename Visitor>
  void walk(Port from, Port to, Visitor visit) const;

  std::int32_t rails_;
  std::vector<Level> levels_;  // the last one is the root
};

}  // namespace fourfold::inline platforms::inline network
