// Consistency of a platform: each function looks at one part and throws at the first contradiction.
#include "platforms/file/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "platforms/operation.hpp"

namespace fourfold::inline platforms::inline file {

void refuse(const Platform& platform, const std::string& message) {
  throw std::runtime_error(fmt::format("{}: {}", platform.path, message));
}

namespace {

// As written: a what-if factor may well ask for more than the machine has.
std::vector<double> rates_as_written(const Platform& platform, const std::string& list) {
  std::vector<double> rates;
  for (const Fact& fact : platform.facts) {
    if (fact.key == list || fact.key.starts_with(list + ".")) rates.push_back(fact.value);
  }
  return rates;
}

// Numbers of which the first is at most the second, where both are there.
void check_order(const Platform& platform, const std::string& low, const std::string& high) {
  const std::vector<double> lows = rates_as_written(platform, low);
  const std::vector<double> highs = rates_as_written(platform, high);
  if (lows.empty() || highs.empty() || lows.front() <= highs.front()) return;
  refuse(platform, fmt::format("{} is {:g}, but it must be at most {}, which is {:g}", low,
                               lows.front(), high, highs.front()));
}

void check_ascending(const Platform& platform, const std::vector<GemmPoint>& points,
                     const std::string& key) {
  std::int64_t previous = 0;
  for (const GemmPoint& point : points) {
    if (point.size <= previous) {
      refuse(platform, fmt::format("processor.{} must ascend in size, but {} follows {}", key,
                                   point.size, previous));
    }
    previous = point.size;
  }
}

void check_processor(const Platform& platform) {
  const Processor& processor = platform.processor;
  if (processor.gemm.empty()) refuse(platform, "processor.gemm has no entries");
  check_ascending(platform, processor.gemm, "gemm");
  check_ascending(platform, processor.gemm_fp8, "gemm_fp8");
  // As written: a what-if factor may well ask for more than the data sheet promises.
  double advertised = 0.0;
  for (const Fact& fact : platform.facts) {
    if (fact.key == "processor.advertised_peak_Tflops") advertised = fact.value;
  }
  for (const Fact& fact : platform.facts) {
    // Factors of half the bits are multiplied twice as fast.
    const double most = advertised * (fact.key.starts_with("processor.gemm_fp8.") ? 2.0 : 1.0);
    if (fact.key.ends_with("_Tflops") && fact.value > most) {
      refuse(platform,
             fmt::format("{} is {}, above the advertised peak of {}", fact.key, fact.value, most));
    }
  }
}

void check_links(const Platform& platform) {
  const Node& node = platform.node;
  std::set<std::pair<int, int>> seen;
  std::vector<int> island(static_cast<std::size_t>(node.devices));
  for (int i = 0; i < node.devices; ++i) island[static_cast<std::size_t>(i)] = i;
  for (const InnerLink& link : node.links) {
    const std::string name = fmt::format("the link {}-{}", link.a, link.b);
    for (const int end : {link.a, link.b}) {
      if (end >= node.devices) {
        refuse(platform, fmt::format("{} ends at device {}, but a node has devices 0 to {}", name,
                                     end, node.devices - 1));
      }
    }
    if (link.a == link.b) refuse(platform, name + " joins a device with itself");
    if (!seen.insert(std::minmax({link.a, link.b})).second) {
      refuse(platform, name + " is given twice; add up the widths in one entry");
    }
    const int from = island[static_cast<std::size_t>(link.a)];
    const int to = island[static_cast<std::size_t>(link.b)];
    std::replace(island.begin(), island.end(), from, to);
  }
  // Devices of a crossbar have ports of their own.
  if (node.switch_port || std::holds_alternative<CrossbarNetwork>(platform.network)) return;
  for (int i = 1; i < node.devices; ++i) {
    if (island[static_cast<std::size_t>(i)] != island[0]) {
      refuse(platform,
             fmt::format("device {} of a node has no path to device 0 by node.links, and no switch "
                         "joins them",
                         i));
    }
  }
}

void check_nics(const Platform& platform) {
  const Node& node = platform.node;
  std::vector<int> served(static_cast<std::size_t>(node.devices));
  for (std::size_t i = 0; i < node.nics.size(); ++i) {
    if (node.nics[i].devices.empty()) {
      refuse(platform, fmt::format("NIC {} of a node serves no device", i));
    }
    for (const int device : node.nics[i].devices) {
      if (device >= node.devices) {
        refuse(platform, fmt::format("NIC {} serves device {}, but a node has devices 0 to {}", i,
                                     device, node.devices - 1));
      }
      ++served[static_cast<std::size_t>(device)];
    }
  }
  for (int i = 0; i < node.devices; ++i) {
    const int count = served[static_cast<std::size_t>(i)];
    if (count != 1) {
      refuse(platform, fmt::format("device {} of a node sends through {} NICs, but it must be "
                                   "exactly 1",
                                   i, count));
    }
  }
}

}  // namespace

void check(const Platform& platform) {
  check_processor(platform);
  check_links(platform);
  check_nics(platform);
  check_network(platform);
  check_library(platform);
  const std::string operation = std::string(operation_section) + ".";
  check_order(platform, operation + step_p90_key, operation + step_p99_key);
}

namespace {

void check_kind(const Platform&, const CrossbarNetwork&) {}

void check_kind(const Platform& platform, const DragonflyNetwork& network) {
  const std::int64_t room = network.groups * network.nodes_per_group;
  if (platform.nodes > room) {
    refuse(platform, fmt::format("{} nodes do not fit in {} groups of {} nodes", platform.nodes,
                                 network.groups, network.nodes_per_group));
  }
  if (network.local_detours > std::max<std::int64_t>(0, network.switches_per_group - 2)) {
    refuse(platform, fmt::format("{} local detours need as many switches besides the two ends, but "
                                 "a group has {}",
                                 network.local_detours, network.switches_per_group));
  }
  if (network.global_detours > std::max<std::int64_t>(0, network.groups - 2)) {
    refuse(platform, fmt::format("{} global detours need as many groups besides the two ends, but "
                                 "there are {}",
                                 network.global_detours, network.groups));
  }
}

void check_kind(const Platform& platform, const DragonflyPlusNetwork& network) {
  if (platform.nodes > network.cells * network.nodes_per_cell) {
    refuse(platform, fmt::format("{} nodes do not fit in {} cells of {} nodes", platform.nodes,
                                 network.cells, network.nodes_per_cell));
  }
  if (network.leaves_per_cell > network.nodes_per_cell) {
    refuse(platform, fmt::format("{} leaves of a cell cannot all have one of its {} nodes",
                                 network.leaves_per_cell, network.nodes_per_cell));
  }
  if (network.global_detours > std::max<std::int64_t>(0, network.cells - 2)) {
    refuse(platform, fmt::format("{} global detours need as many cells besides the two ends, but "
                                 "there are {}",
                                 network.global_detours, network.cells));
  }
}

void check_kind(const Platform& platform, const FatTreeNetwork& network) {
  constexpr std::size_t most_tiers = 4;
  if (network.tiers.empty() || network.tiers.size() > most_tiers) {
    refuse(platform, fmt::format("a fat tree has 1 to {} tiers of switches, but network.tiers has "
                                 "{} entries",
                                 most_tiers, network.tiers.size()));
  }
  const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
  if (nics % network.rails != 0) {
    refuse(platform,
           fmt::format("the {} NICs of a node do not divide over {} rails", nics, network.rails));
  }
  if (network.rails > 1 && network.tiers.size() == 1) {
    refuse(platform,
           fmt::format("{} rails need a second tier of switches that joins them", network.rails));
  }
  // As written, like the other rates.
  const std::vector<double> nics_GBps = rates_as_written(platform, "node.nics");
  const std::vector<double> link = rates_as_written(platform, "network.link_bandwidth_GBps");
  if (!link.empty() && !nics_GBps.empty() && link.front() < std::ranges::max(nics_GBps)) {
    refuse(platform,
           fmt::format("network.link_bandwidth_GBps is {:g}, but it is the link from a NIC "
                       "to its leaf, and by node.nics a NIC sends {:g}",
                       link.front(), std::ranges::max(nics_GBps)));
  }
  double room = 1.0;
  for (const FatTreeTier& tier : network.tiers) room *= static_cast<double>(tier.members);
  if (static_cast<double>(platform.nodes) > room) {
    refuse(platform,
           fmt::format("{} nodes do not fit in a fat tree for {:g}", platform.nodes, room));
  }
}

void check_kind(const Platform& platform, const TorusNetwork& network) {
  if (network.extents.empty()) refuse(platform, "a torus needs at least one dimension");
  double room = 1.0;
  for (std::int64_t extent : network.extents) {
    if (extent < 2) {
      refuse(platform, fmt::format("a dimension of {} routers is none: it needs 2", extent));
    }
    room *= static_cast<double>(extent);
  }
  if (static_cast<double>(platform.nodes) > room) {
    refuse(platform, fmt::format("{} nodes do not fit in a torus of {:g}", platform.nodes, room));
  }
}

}  // namespace

void check_network(const Platform& platform) {
  std::visit([&](const auto& network) { check_kind(platform, network); }, platform.network);
}

namespace {

// Groups larger than the last row would take its rate without anybody having said so.
void check_plateaus(const Platform& platform, const std::vector<Plateau>& plateaus,
                    const std::string& name) {
  int previous = 0;
  for (const Plateau& plateau : plateaus) {
    if (plateau.devices <= previous) {
      refuse(platform, fmt::format("library.{} must ascend in devices, but {} follows {}", name,
                                   plateau.devices, previous));
    }
    if (plateau.devices > platform.node.devices) {
      refuse(platform, fmt::format("library.{} speaks of {} devices per node, but a node has {}",
                                   name, plateau.devices, platform.node.devices));
    }
    previous = plateau.devices;
  }
  if (previous < platform.node.devices) {
    refuse(platform, fmt::format("library.{} ends at {} device{} per node, but a node has {}: add "
                                 "the row of a whole node, which most collectives of a training "
                                 "step use",
                                 name, previous, previous == 1 ? "" : "s", platform.node.devices));
  }
}

// A ring over nodes sends every byte through a NIC: m members have at most the m fastest. On a
// crossbar each has a port as fast as the first NIC.
void check_injection(const Platform& platform) {
  std::vector<double> nics = rates_as_written(platform, "node.nics");
  if (std::holds_alternative<CrossbarNetwork>(platform.network) && !nics.empty()) {
    nics.assign(static_cast<std::size_t>(platform.node.devices), nics.front());
  }
  std::sort(nics.begin(), nics.end(), std::greater<>());
  const std::vector<double> plateaus = rates_as_written(platform, "library.across");
  for (std::size_t row = 0; row < plateaus.size(); ++row) {
    const int members = platform.library.across[row].devices;
    double injection = 0.0;
    for (std::size_t i = 0; i < std::min(nics.size(), static_cast<std::size_t>(members)); ++i) {
      injection += nics[i];
    }
    if (plateaus[row] <= injection * (1.0 + 1e-9)) continue;
    refuse(platform,
           fmt::format("library.across gives {:g} GB/s to {} device{} per node, but by node.nics "
                       "no ring leaves a node faster than {:g}; all-reduces over two nodes or by "
                       "the switches seem faster than rings: measure an all-gather over four nodes",
                       plateaus[row], members, members == 1 ? "" : "s", injection));
  }
}

// A device sends nothing faster to the other members of its group than its widest links to as many,
// and its port to the node's switch, let it.
double fastest_to_others(const Platform& platform, int members) {
  const std::vector<double> links = rates_as_written(platform, "node.links");
  const std::vector<double> port = rates_as_written(platform, "node.switch_port_GBps");
  double widest = 0.0;
  for (int device = 0; device < platform.node.devices; ++device) {
    std::vector<double> own;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const InnerLink& link = platform.node.links[i];
      if (link.a == device || link.b == device) own.push_back(links[i]);
    }
    std::sort(own.begin(), own.end(), std::greater<>());
    double sum = port.empty() ? 0.0 : port.front();
    for (std::size_t i = 0; i < own.size() && i + 1 < static_cast<std::size_t>(members); ++i) {
      sum += own[i];
    }
    widest = std::max(widest, sum);
  }
  return widest;
}

void check_port(const Platform& platform, const std::string& list, double rate, int members,
                const std::string& apart) {
  const double widest = fastest_to_others(platform, members);
  if (rate <= widest * (1.0 + 1e-9)) return;
  refuse(platform, fmt::format("{} gives {:g} GB/s to {} devices{}, but by node.links and "
                               "node.switch_port_GBps no device sends faster than {:g} to the "
                               "others",
                               list, rate, members, apart, widest));
}

// Devices of a crossbar have ports of their own: links and switch are not read.
bool has_own_ports(const Platform& platform) {
  return std::holds_alternative<CrossbarNetwork>(platform.network);
}

void check_ports(const Platform& platform) {
  if (has_own_ports(platform)) return;
  const std::string list = "library.in_node";
  const std::vector<double> plateaus = rates_as_written(platform, list);
  for (std::size_t row = 0; row < plateaus.size(); ++row) {
    check_port(platform, list, plateaus[row], platform.library.in_node[row].devices, "");
  }
}

void check_strides(const Platform& platform) {
  const std::string list = "library.in_node_by_stride";
  const std::vector<double> rates = rates_as_written(platform, list);
  for (std::size_t row = 0; row < rates.size(); ++row) {
    const StridedPlateau& plateau = platform.library.in_node_by_stride[row];
    if (plateau.stride < 1 || plateau.devices < 2 ||
        plateau.stride * (plateau.devices - 1) >= platform.node.devices) {
      refuse(platform, fmt::format("{}: {} devices {} apart do not fit in a node of {}", list,
                                   plateau.devices, plateau.stride, platform.node.devices));
    }
    if (has_own_ports(platform)) continue;
    check_port(platform, list, rates[row], plateau.devices,
               fmt::format(" {} apart", plateau.stride));
  }
}

}  // namespace

void check_library(const Platform& platform) {
  const CollectiveLibrary& library = platform.library;
  if (library.across.empty()) refuse(platform, "library.across has no entries");
  if (library.in_node.empty() && platform.node.devices > 1) {
    refuse(platform, "library.in_node has no entries, but a node has several devices");
  }
  if (library.overlap_exponent < 1.0) {
    refuse(platform, fmt::format("library.overlap_exponent is {}, but it must be at least 1",
                                 library.overlap_exponent));
  }
  check_plateaus(platform, library.across, "across");
  if (!library.across_at_once.empty()) {
    check_plateaus(platform, library.across_at_once, "across_at_once");
  }
  if (platform.node.devices > 1) {
    check_plateaus(platform, library.in_node, "in_node");
    check_ports(platform);
  }
  check_injection(platform);
  check_strides(platform);
  check_order(platform, "library.cliff.from_KiB", "library.cliff.to_KiB");
}

}  // namespace fourfold::inline platforms::inline file
