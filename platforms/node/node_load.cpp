// The table is filled with the footprints of all lines over the shortest pattern that repeats.
#include "platforms/node/node_load.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "platforms/network/topology.hpp"
#include "platforms/node/node_graph.hpp"

namespace fourfold::inline platforms::inline node {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Nodes side by side at one set of switches, one path between any two of them.
struct ChassisNetwork {
  std::int64_t nics;
  std::int64_t nodes;

  Network operator()(const DragonflyNetwork& network) const {
    DragonflyNetwork chassis = network;
    chassis.groups = 1;
    chassis.nodes_per_group = nodes;
    chassis.switches_per_group = nics;
    chassis.local_detours = 0;
    return chassis;
  }
  Network operator()(const FatTreeNetwork& network) const {
    FatTreeNetwork unit{network.link_bandwidth, network.rails, {{nodes, 1.0}}};
    if (network.rails > 1) unit.tiers.push_back({1, 1.0});
    return unit;
  }
  // On other networks a node has one router: rails do not matter.
  template <typename Other>
  Network operator()(const Other&) const {
    return FatTreeNetwork{{1.0}, 1, {{nodes, 1.0}}};
  }
};

}  // namespace

NodeLoads::NodeLoads(const Platform& platform) : devices_per_node_(platform.node.devices) {
  one_line_per_device_.rate = unlimited;
  const std::vector<std::int32_t> nic_of = nic_of_devices(platform.node);
  for (std::size_t nic = 0; nic < platform.node.nics.size(); ++nic) {
    const double served = static_cast<double>(
        std::count(nic_of.begin(), nic_of.end(), static_cast<std::int32_t>(nic)));
    if (served == 0.0) continue;
    NodeLoad& load = one_line_per_device_;
    load.rate = std::min(load.rate, platform.node.nics[nic].bandwidth.value / served);
    load.nic = std::max(load.nic, served);
    const auto inner = NodeGraph(platform.node).link_count();
    one_line_links_.push_back({inner + static_cast<std::int32_t>(nic), served});
  }
  tabulate(platform);
}

// A machine of one chassis (or one unit of a fat tree) stands in: its NICs and inner links are the
// real ones, and its links between switches count the flows between rails.
void NodeLoads::tabulate(const Platform& platform) {
  const std::int64_t d = devices_per_node_;
  rows_.resize(d);
  std::int64_t longest_block = d;
  for (std::int64_t stride = 1; stride < d; ++stride) {
    Row& row = rows_[stride];
    row.period = d / std::gcd(stride, d);
    // Long enough that a line meets the node in every way it ever will, and both its ends.
    const std::int64_t nodes = d % stride == 0 ? 3 : row.period + 2;
    row.longest = divide_up(nodes * d, stride) + row.period - 1;
    longest_block = std::max(longest_block, row.longest * stride);
  }
  Platform chassis = platform;
  chassis.nodes = longest_block;  // the pattern repeats after lcm(block, d) devices
  const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
  chassis.network = std::visit(ChassisNetwork{nics, chassis.nodes}, platform.network);
  const Topology topology(chassis, chassis.nodes);

  std::vector<double> load(topology.link_count());
  std::vector<std::int64_t> line;
  const auto in_node = NodeGraph(platform.node).link_count() + static_cast<std::int32_t>(nics);
  const std::int32_t links_per_node = in_node + static_cast<std::int32_t>(nics);
  std::vector<double> most(static_cast<std::size_t>(in_node));  // of all nodes, by link of a node
  for (std::int64_t stride = 1; stride < d; ++stride) {
    Row& row = rows_[stride];
    row.first = static_cast<std::int32_t>(entries_.size());
    entries_.resize(entries_.size() + row.longest + 1);
    for (std::int64_t extent = 2; extent <= row.longest; ++extent) {
      const std::int64_t block = stride * extent;
      Entry& entry = entries_[row.first + extent];
      entry.first = static_cast<std::int32_t>(loads_.size());
      entry.blocks = static_cast<std::int32_t>(d / std::gcd(block, d));
      std::fill(load.begin(), load.end(), 0.0);
      std::fill(most.begin(), most.end(), 0.0);
      NodeLoad sum{unlimited, 0.0, 0.0};
      double off_rail = 0.0;
      for (std::int64_t b = 0; b < entry.blocks; ++b) {
        for (std::int64_t offset = 0; offset < stride; ++offset) {
          line.clear();
          for (std::int64_t i = 0; i < extent; ++i) line.push_back(b * block + offset + i * stride);
          for (const LinkShare& entry_load : topology.ring_footprint(line, 0)) {
            const double now = load[entry_load.link] += entry_load.share;
            const LinkKind kind = topology.kind(entry_load.link);
            if (kind == LinkKind::inner || kind == LinkKind::nic_out) {
              double& of_link = most[static_cast<std::size_t>(entry_load.link % links_per_node)];
              of_link = std::max(of_link, now);
            }
            if (kind == LinkKind::local || kind == LinkKind::leaf) {
              off_rail = std::max(off_rail, now);
            } else {
              sum.rate = std::min(sum.rate, topology.capacity(entry_load.link).value / now);
              if (kind != LinkKind::inner) sum.nic = std::max(sum.nic, now);
            }
          }
        }
        sum.off_rail = off_rail / static_cast<double>(divide_up((b + 1) * block, d));
        loads_.push_back(sum);
        links_begin_.push_back(links_.size());
        for (std::int32_t link = 0; link < in_node; ++link) {
          const double of_link = most[static_cast<std::size_t>(link)];
          if (of_link > 0.0) links_.push_back({link, of_link});
        }
      }
    }
  }
  links_begin_.push_back(links_.size());
}

NodeLoads::Place NodeLoads::place(AxisLines lines) const {
  const auto [stride, extent, devices] = lines;
  const Row& row = rows_[stride];
  // Of the extents beyond the table, the one in its last period that meets nodes in the same way.
  const std::int64_t last_period = row.longest - row.period + 1;
  const std::int64_t folded =
      extent <= row.longest ? extent : last_period + (extent - last_period) % row.period;
  const Entry& entry = entries_[row.first + folded];
  const std::int64_t blocks = std::max<std::int64_t>(devices / (stride * extent), 1);
  return {static_cast<std::size_t>(entry.first + std::min<std::int64_t>(blocks, entry.blocks) - 1),
          folded};
}

NodeLoad NodeLoads::load(AxisLines lines) const {
  if (lines.stride >= devices_per_node_) return one_line_per_device_;
  const Place found = place(lines);
  NodeLoad load = loads_[found.load];
  // With strides that divide the node, rails are left at the ends of blocks only.
  if (devices_per_node_ % lines.stride == 0) {
    load.off_rail *= static_cast<double>(found.folded) / static_cast<double>(lines.extent);
  }
  return load;
}

std::span<const LinkShare> NodeLoads::links(AxisLines lines) const {
  if (lines.stride >= devices_per_node_) return one_line_links_;
  const std::size_t begin = links_begin_[place(lines).load];
  return {links_.data() + begin, links_begin_[place(lines).load + 1] - begin};
}

}  // namespace fourfold::inline platforms::inline node
