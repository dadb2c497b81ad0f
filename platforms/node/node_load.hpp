// What the rings of one axis of the process grid load in a node and at its NICs, when all its
// groups run at once: counted on first need for strides below the node's size, arithmetic above.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "platforms/network/link.hpp"
#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline node {

inline constexpr int most_nics = 128;

// The lines of one axis of the process grid: `stride` and `extent` as in ProcessGrid, in a job of
// `devices` devices.
struct AxisLines {
  std::int64_t stride = 1;
  std::int64_t extent = 1;
  std::int64_t devices = 1;
};

// Per unit of ring rate.
struct NodeLoad {
  double rate = 0.0;      // bytes/s allowed by inner links and NICs
  double nic = 0.0;       // the busiest NIC's load
  double off_rail = 0.0;  // flows per node from one NIC to another, the most frequent pair; with
                          // rails in a fat tree, from one rail to all others, the busiest rail
};

// Strides of a node and more: every device has a line of its own, so a NIC is shared by all devices
// it serves, which is the paper's beta / min(devices per node, stride) (equation (7)). Safe to ask
// from threads; copies share what is counted.
class NodeLoads {
 public:
  // `platform` must be one that Topology accepts, and no crossbar.
  explicit NodeLoads(const Platform& platform);

  NodeLoad load(AxisLines lines) const;
  // Which links of a node that carries the most of them, as Topology numbers them in its first
  // node, and how much of each per unit of ring rate. NICs once: rings send what they receive.
  std::span<const LinkShare> links(AxisLines lines) const;

 private:
  // Of lines of a stride below the node's size: what they load, and their extent in the table.
  struct Counted;
  struct Place {
    const Counted& counted;
    std::int64_t folded;
  };
  struct Table;
  Place place(AxisLines lines) const;

  std::int64_t devices_per_node_;
  NodeLoad one_line_per_device_;
  std::vector<LinkShare> one_line_links_;  // of one_line_per_device_
  std::shared_ptr<Table> table_;
};

}  // namespace fourfold::inline platforms::inline node
