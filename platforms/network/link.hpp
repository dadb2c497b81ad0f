// What the links of a machine are called, where a message enters the network, and footprints: which
// links a message or a collective loads, as a sparse vector of shares.
#pragma once
#include <cstdint>
#include <vector>

namespace fourfold::inline platforms::inline network {

// inner                  between devices of a node, or to and from the node's switch
// nic_out, nic_in        between node and network
// local, global          dragonfly: inside a group, between groups
// leaf                   dragonfly+: between a leaf and the spines of its cell (global: of cells)
// leaf, spine, core      fat tree: between the switches of tiers 1 and 2, 2 and 3, 3 and 4
// torus                  between neighbouring routers
// port                   of a crossbar
enum class LinkKind : std::uint8_t {
  inner,
  nic_out,
  nic_in,
  local,
  global,
  leaf,
  spine,
  core,
  torus,
  port
};
const char* name(LinkKind kind);

// NIC number `nic` of node `node`, or the switch port it is plugged into.
struct Port {
  std::int32_t node = 0;
  std::int32_t nic = 0;
};

// `share` of a message's bytes crosses `link`; shares are fractions where routing spreads.
struct LinkShare {
  std::int32_t link = 0;
  double share = 0.0;
};

// Sparse sum of the links that one collective of one group loads per byte of ring bandwidth: if the
// ring moves at r bytes/s, link l carries share * r.
using Footprint = std::vector<LinkShare>;

// Sorts by link and adds up the shares of equal links.
void merge(Footprint& footprint);

}  // namespace fourfold::inline platforms::inline network
