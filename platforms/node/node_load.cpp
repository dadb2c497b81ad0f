// Counts the footprints of all lines over the shortest pattern that repeats.
#include "platforms/node/node_load.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>

#include "platforms/network/topology.hpp"
#include "platforms/node/node_graph.hpp"

namespace fourfold::inline platforms::inline node {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// A node of many devices counts no strides that do not divide it: they are no layout that is run
// there, and their patterns repeat only after as many nodes as it has devices.
constexpr std::int64_t most_devices_of_all_strides = 16;

// The stride whose table answers for `stride`: the longest one with a table that is not longer.
std::int64_t tabulated(std::int64_t stride, std::int64_t devices) {
  if (devices <= most_devices_of_all_strides) return stride;
  while (devices % stride != 0) --stride;
  return stride;
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

// After so many blocks (stride x extent devices).
struct NodeLoads::Counted {
  NodeLoad load;
  std::vector<LinkShare> links;
};

struct NodeLoads::Table {
  struct Entry {
    std::once_flag once;
    std::vector<Counted> by_blocks;  // of a job with 1, 2, ... of them
  };
  // A stride: extents beyond the longest repeat with a period.
  struct Row {
    std::int64_t longest = 0;
    std::int64_t period = 1;
    std::deque<Entry> entries;  // by extent
  };

  explicit Table(const Platform& platform) : machine(platform), rows(platform.node.devices) {
    const std::int64_t d = platform.node.devices;
    std::int64_t longest_block = d;
    for (std::int64_t stride = 1; stride < d; ++stride) {
      if (tabulated(stride, d) != stride) continue;
      Row& row = rows[stride];
      row.period = d / std::gcd(stride, d);
      // Long enough that a line meets the node in every way it ever will, and both its ends.
      const std::int64_t nodes = d % stride == 0 ? 3 : row.period + 2;
      row.longest = divide_up(nodes * d, stride) + row.period - 1;
      row.entries = std::deque<Entry>(row.longest + 1);
      longest_block = std::max(longest_block, row.longest * stride);
    }
    // A machine of one chassis (or one unit of a fat tree) stands in: its NICs and inner links are
    // the real ones, and its links between switches count the flows between rails.
    machine.nodes = longest_block;  // the pattern repeats after lcm(block, d) devices
    const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
    machine.network = std::visit(ChassisNetwork{nics, machine.nodes}, platform.network);
    topology.emplace(machine, machine.nodes);
  }

  const std::vector<Counted>& of(std::int64_t stride, std::int64_t extent) {
    Entry& entry = rows[stride].entries[extent];
    std::call_once(entry.once, [&] {
      const std::lock_guard lock(mutex);
      entry.by_blocks = count(stride, extent);
    });
    return entry.by_blocks;
  }

  std::vector<Counted> count(std::int64_t stride, std::int64_t extent) const {
    const std::int64_t d = machine.node.devices;
    const std::int64_t block = stride * extent;
    const std::int64_t blocks = d / std::gcd(block, d);
    const std::int32_t links_per_node = topology->links_per_node();
    const auto in_node = links_per_node - static_cast<std::int32_t>(machine.node.nics.size());
    std::vector<double> load(topology->link_count());
    std::vector<double> most(static_cast<std::size_t>(in_node));  // of all nodes, by link of a node
    std::vector<std::int64_t> line(static_cast<std::size_t>(extent));
    std::vector<Counted> counted;
    NodeLoad sum{unlimited, 0.0, 0.0};
    double off_rail = 0.0;
    for (std::int64_t b = 0; b < blocks; ++b) {
      for (std::int64_t offset = 0; offset < stride; ++offset) {
        for (std::int64_t i = 0; i < extent; ++i) line[i] = b * block + offset + i * stride;
        for (const LinkShare& one : topology->ring_footprint(line, 0)) {
          const double now = load[one.link] += one.share;
          const LinkKind kind = topology->kind(one.link);
          if (kind == LinkKind::inner || kind == LinkKind::nic_out) {
            double& of_link = most[static_cast<std::size_t>(one.link % links_per_node)];
            of_link = std::max(of_link, now);
          }
          if (kind == LinkKind::local || kind == LinkKind::leaf) {
            off_rail = std::max(off_rail, now);
          } else {
            sum.rate = std::min(sum.rate, topology->capacity(one.link).value / now);
            if (kind != LinkKind::inner) sum.nic = std::max(sum.nic, now);
          }
        }
      }
      sum.off_rail = off_rail / static_cast<double>(divide_up((b + 1) * block, d));
      counted.push_back({sum, {}});
      for (std::int32_t link = 0; link < in_node; ++link) {
        const double of_link = most[static_cast<std::size_t>(link)];
        if (of_link > 0.0) counted.back().links.push_back({link, of_link});
      }
    }
    return counted;
  }

  Platform machine;
  std::optional<Topology> topology;
  std::mutex mutex;       // of the topology
  std::vector<Row> rows;  // by stride
};

NodeLoads::NodeLoads(const Platform& platform)
    : devices_per_node_(platform.node.devices), table_(std::make_shared<Table>(platform)) {
  one_line_per_device_.rate = unlimited;
  const std::vector<std::int32_t> nic_of = nic_of_devices(platform.node);
  const auto inner = NodeGraph(platform.node).link_count();
  for (std::size_t nic = 0; nic < platform.node.nics.size(); ++nic) {
    const double served = static_cast<double>(
        std::count(nic_of.begin(), nic_of.end(), static_cast<std::int32_t>(nic)));
    if (served == 0.0) continue;
    NodeLoad& load = one_line_per_device_;
    load.rate = std::min(load.rate, platform.node.nics[nic].bandwidth.value / served);
    load.nic = std::max(load.nic, served);
    one_line_links_.push_back({inner + static_cast<std::int32_t>(nic), served});
  }
}

NodeLoads::Place NodeLoads::place(AxisLines lines) const {
  const auto [stride, extent, devices] = lines;
  const std::int64_t kept = tabulated(stride, devices_per_node_);
  const Table::Row& row = table_->rows[kept];
  // Of the extents beyond the table, the one in its last period that meets nodes in the same way.
  const std::int64_t last_period = row.longest - row.period + 1;
  const std::int64_t folded =
      extent <= row.longest ? extent : last_period + (extent - last_period) % row.period;
  const std::vector<Counted>& counted = table_->of(kept, folded);
  const std::int64_t blocks = std::max<std::int64_t>(devices / (stride * extent), 1);
  return {counted[std::min<std::size_t>(blocks, counted.size()) - 1], folded};
}

NodeLoad NodeLoads::load(AxisLines lines) const {
  if (lines.stride >= devices_per_node_) return one_line_per_device_;
  const Place found = place(lines);
  NodeLoad load = found.counted.load;
  // With strides that divide the node, rails are left at the ends of blocks only.
  if (devices_per_node_ % lines.stride == 0) {
    load.off_rail *= static_cast<double>(found.folded) / static_cast<double>(lines.extent);
  }
  return load;
}

std::span<const LinkShare> NodeLoads::links(AxisLines lines) const {
  if (lines.stride >= devices_per_node_) return one_line_links_;
  return place(lines).counted.links;
}

}  // namespace fourfold::inline platforms::inline node
