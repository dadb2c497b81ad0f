// A dragonfly+: cells of leaf and spine switches, and the spines of every two cells joined
// directly.
//
//   NIC -> leaf ==> spines ==> leaf -> NIC                            inside a cell
//   NIC -> leaf ==> spines => spines ==> leaf -> NIC                  minimal
//   NIC -> leaf ==> spines => (cell v) => spines ==> leaf -> NIC      global detour
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "platforms/network/dragonfly.hpp"
#include "platforms/network/dragonfly_rate.hpp"
#include "platforms/network/link.hpp"
#include "platforms/network/network.hpp"
#include "platforms/node/node_load.hpp"
#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline network {

// Cells as groups of one switch each. Throws std::invalid_argument without leaves or links up.
DragonflyNetwork between_cells(const DragonflyPlusNetwork& network);

// Placement: a cell's nodes fill its leaves one by one, all NICs of a node on one leaf.
//
// The links from a leaf to all spines of its cell are one bundle with their summed capacity, those
// back another, and so are the links between two cells: adaptive routing balances parallel links,
// and no flow is wider than one of them. Every leaf reaches every spine, so between cells it is a
// dragonfly whose groups have one switch, with the same detours. Inside a cell there is nothing to
// spread over: all spines are in the bundle.
class DragonflyPlus {
 public:
  // Throws std::invalid_argument on impossible numbers or more nodes than the cells hold.
  DragonflyPlus(const DragonflyPlusNetwork& network, std::int64_t nics_per_node,
                std::int64_t nodes);

  // An up and a down bundle per leaf of the cells that hold nodes of the job, then a bundle per
  // ordered pair of cells of the whole machine.
  std::int32_t link_count() const { return leaf_links_ + cells_.link_count(); }
  LinkKind kind(std::int32_t link) const {
    return link < leaf_links_ ? LinkKind::leaf : LinkKind::global;
  }
  double capacity(std::int32_t link) const {
    return link < leaf_links_ ? leaf_capacity_ : cells_.bundle_capacity();
  }
  std::string link_name(std::int32_t link) const;  // "cell 2 leaf 7 up", "cell 3 -> cell 9"

  // Both append the network's own links, numbered from `first`; the NICs are the caller's.
  void route(Port from, Port to, double share, std::int32_t first, Footprint& path) const;
  void minimal_route(Port from, Port to, std::int32_t first, std::vector<std::int32_t>& path) const;

  const Dragonfly& cells() const { return cells_; }
  double leaf_capacity() const { return leaf_capacity_; }  // bytes/s of one bundle
  std::int32_t nodes_per_leaf() const { return nodes_per_leaf_; }

 private:
  std::int32_t leaf(std::int32_t node) const {  // of the whole machine
    return cells_.group(node) * leaves_ + node % cells_.nodes_per_group() / nodes_per_leaf_;
  }

  Dragonfly cells_;
  std::int32_t leaves_, nodes_per_leaf_;
  double leaf_capacity_;
  std::int32_t leaf_links_ = 0;
};

// Besides nodes, the bundles of leaves and of cell pairs may bind. A leaf's carries as many flows
// as there are lines that leave it, as in a fat tree: exact where leaves fill their cells evenly,
// else as if they did. Between cells it is what DragonflyRates says of groups.
class DragonflyPlusRates {
 public:
  DragonflyPlusRates(const Node& node, const DragonflyPlusNetwork& network);

  double rate(AxisLines lines, const NodeLoad& node) const;

 private:
  std::int64_t devices_per_leaf_;
  double leaf_capacity_;
  DragonflyRates cells_;
};

}  // namespace fourfold::inline platforms::inline network
