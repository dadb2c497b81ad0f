// What the links of a machine are called, and where a message enters the network.
#pragma once

#include <cstdint>

namespace fourfold {

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

}  // namespace fourfold
