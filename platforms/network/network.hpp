// The kinds of network between the nodes, as data: a closed set, each with the numbers it needs.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "support/quantity.hpp"

namespace fourfold::inline platforms::inline network {

// Nothing contends but the ports of the devices.
struct CrossbarNetwork {
  bool private_port_per_lane = false;  // else the channels of a device share one port
};

// Groups of fully connected switches; every pair of groups is joined directly.
struct DragonflyNetwork {
  std::int64_t groups = 0;
  std::int64_t switches_per_group = 0;
  std::int64_t nodes_per_group = 0;
  std::int64_t links_per_group_pair = 0;
  BytesPerSecond link_bandwidth;  // switch to switch inside a group, per direction, one link
  // The same between groups: equal to link_bandwidth unless a file or a scale says otherwise.
  BytesPerSecond global_link_bandwidth;
  // Adaptive-like spreading: besides the minimal path a message uses this many detours, in equal
  // fractions; 0 and 0 is minimal-only routing.
  std::int64_t local_detours = 0;   // inside a group, via another switch
  std::int64_t global_detours = 0;  // between groups, via another group
};

// Cells of leaf and spine switches, each leaf joined with all spines of its cell; spines of every
// pair of cells are joined directly.
struct DragonflyPlusNetwork {
  std::int64_t cells = 0;
  std::int64_t leaves_per_cell = 0;
  std::int64_t nodes_per_cell = 0;
  std::int64_t uplinks_per_leaf = 0;     // to all spines of the cell together
  std::int64_t links_per_cell_pair = 0;  // between their spines
  BytesPerSecond link_bandwidth;         // leaf to spine, per direction, one link
  BytesPerSecond global_link_bandwidth;  // the same between cells
  std::int64_t global_detours = 0;       // as of a dragonfly, via another cell
};

// One level of switches. The first tier's members are nodes, those of the others parts of the tier
// below; the last tier is the root.
struct FatTreeTier {
  std::int64_t members = 0;
  // What the part's members can send into it / what it can send up: 1 is non-blocking, 7 a taper
  // to a seventh, below 1 more up than down. Not for the last tier.
  double oversubscription = 1.0;
};

struct FatTreeNetwork {
  BytesPerSecond link_bandwidth;  // NIC to leaf, per direction
  // Leaf switches side by side in a part of the first tier: NIC i of all its nodes is on leaf i
  // modulo rails. As many as NICs is rail-optimised; 1 has all NICs of a node on one leaf.
  std::int64_t rails = 1;
  std::vector<FatTreeTier> tiers;
};

// A router per node, joined with its two neighbours in each dimension, the ends joined as well.
// Nodes are numbered along the first dimension first.
struct TorusNetwork {
  std::vector<std::int64_t> extents;
  BytesPerSecond link_bandwidth;  // per direction
};

using Network = std::variant<CrossbarNetwork, DragonflyNetwork, DragonflyPlusNetwork,
                             FatTreeNetwork, TorusNetwork>;

// "dragonfly", "fat tree", ...
std::string kind_in_words(const Network& network);
// Whether there are links between parts of the network that "network.global_bandwidth" can scale.
bool has_global_links(const Network& network);

}  // namespace fourfold::inline platforms::inline network
