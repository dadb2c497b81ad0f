// The devices of one node and the links between them: which directed links a transfer between two
// of its devices crosses. All nodes of a machine share one graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline node {

// Links are directed: 2i is node.links[i] from a to b, 2i + 1 the same from b to a. After those, in
// a node with a switch, one from each device into the switch and one out of it, by device.
class NodeGraph {
 public:
  // Throws std::invalid_argument if some pair of devices has no path.
  explicit NodeGraph(const Node& node);

  int devices() const { return devices_; }
  std::int32_t link_count() const { return static_cast<std::int32_t>(capacity_.size()); }
  double capacity(std::int32_t link) const { return capacity_[link]; }  // bytes/s
  // The devices a link joins; the switch is number devices().
  int from(std::int32_t link) const { return from_[link]; }
  int to(std::int32_t link) const { return to_[link]; }
  std::string link_name(std::int32_t link) const;  // "device 0 -> device 6", "device 3 -> switch"

  // The direct link where there is one (the widest of several); otherwise through the switch if
  // there is one; otherwise the path of largest bottleneck and, among those, fewest hops. Empty
  // from a device to itself.
  const std::vector<std::int32_t>& path(int from, int to) const {
    return paths_[from * devices_ + to];
  }
  // Whether the path passes no other device.
  bool is_direct(int from, int to) const {
    return path(from, to).size() <= 1 || to_[path(from, to).front()] == devices_;
  }

 private:
  std::vector<std::int32_t> shortest_path(int from, int to, double width) const;

  int devices_ = 0;
  std::vector<int> from_, to_;  // ends of each directed link
  std::vector<double> capacity_;
  std::vector<std::vector<std::int32_t>> paths_;
};

// The NIC each device sends through: the first that names it, -1 if none does. Throws
// std::invalid_argument if a NIC names a device that the node does not have.
std::vector<std::int32_t> nic_of_devices(const Node& node);

}  // namespace fourfold::inline platforms::inline node
