// The rings a collective library would build among some devices of one node, found as NCCL and RCCL
// do: by search over the node graph, several rings at once, each as wide as the links left allow.
#pragma once

#include <cstdint>
#include <vector>

#include "platforms/network/link.hpp"
#include "platforms/node/node_graph.hpp"

namespace fourfold::inline platforms::inline node {

// Bit d stands for device d of the node.
__extension__ using DeviceSet = unsigned __int128;
static_assert(Node::most_devices <= 8 * static_cast<int>(sizeof(DeviceSet)));

// One ring: its members in the order in which it passes them, and its part of all bytes.
struct NodeRing {
  std::vector<int> order;
  double share = 0.0;
};

struct NodeRings {
  double rate = 0.0;  // bytes/s of all rings together: what each member can send
  std::vector<NodeRing> rings;
  // Share of each inner link per byte of total ring rate; links numbered as in NodeGraph.
  Footprint shares;
};

// Rings over the members, each passing all of them once, over direct links. Only where direct links
// form no ring at all, pairs without one use their path in the graph and consume all of its links:
// the libraries do not detour through a third device either if they can avoid it (with detours the
// eight devices of an MI250X node would reach 190 GB/s instead of 152; measured are 135).
// Fewer than two members have no rings.
//
// Example: four devices, 100 GB/s between each pair. Two opposite rings at full width use up four
// of the six pairs: 200 GB/s. Six rings at half width use all twelve directions: 300 GB/s. The
// search tries full, half and third widths and keeps what is fastest.
NodeRings node_rings(const NodeGraph& graph, DeviceSet members);

}  // namespace fourfold::inline platforms::inline node
