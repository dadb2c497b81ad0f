// Routes, rings, rates, placements and exports of drawn machines: what holds for all of them.
#include "tests/platforms/drawn_machines.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "platforms/mapping.hpp"
#include "platforms/show/simgrid_xml.hpp"
#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"
#include "tests/platforms/routes.hpp"

namespace fourfold::tests {
namespace {

std::vector<Platform> machines(int count, unsigned seed) {
  MachineDraw draw(seed);
  std::vector<Platform> all;
  for (int number = 0; number < count; ++number) all.push_back(draw.machine(number));
  return all;
}

// With every link this much wider.
Platform wider(Platform platform, double factor) {
  for (InnerLink& link : platform.node.links) link.bandwidth *= factor;
  if (platform.node.switch_port) *platform.node.switch_port *= factor;
  for (Nic& one : platform.node.nics) one.bandwidth *= factor;
  std::visit(
      [&](auto& network) {
        if constexpr (requires { network.link_bandwidth; }) network.link_bandwidth *= factor;
        if constexpr (requires { network.global_link_bandwidth; }) {
          network.global_link_bandwidth *= factor;
        }
      },
      platform.network);
  return platform;
}

bool has_detours(const Network& network) {
  return std::visit(
      [](const auto& kind) {
        bool detours = false;
        if constexpr (requires { kind.local_detours; }) detours |= kind.local_detours > 0;
        if constexpr (requires { kind.global_detours; }) detours |= kind.global_detours > 0;
        return detours;
      },
      network);
}

// A message leaves its node once and enters the other's once; a minimal route takes each link once,
// and is the route where there are no detours, nor two ways round; on trees and tori the way back
// is as long.
TEST(DrawnMachines, RouteWholeMessages) {
  for (const Platform& platform : machines(80, 5)) {
    const Topology topology(platform, platform.nodes);
    const std::int64_t devices = topology.devices(), in_node = platform.node.devices;
    const std::int64_t step = std::max<std::int64_t>(1, devices / 40);
    for (std::int64_t from = 0; from < devices; from += step) {
      for (std::int64_t to = 0; to < devices; to += step) {
        if (from == to) continue;
        Footprint there;
        topology.route(from, to, there);
        std::vector<std::int32_t> links;
        topology.minimal_route(from, to, links);
        const std::set<std::int32_t> once(links.begin(), links.end());
        EXPECT_EQ(once.size(), links.size()) << platform.name << " " << from << " to " << to;
        const bool torus = std::holds_alternative<TorusNetwork>(platform.network);
        if (!torus && !has_detours(platform.network)) {
          EXPECT_EQ(there.size(), links.size()) << platform.name << " " << from << " to " << to;
        }
        if (torus || std::holds_alternative<FatTreeNetwork>(platform.network)) {
          EXPECT_EQ(names(topology, to, from).size(), links.size()) << platform.name;
        }
        double out = 0.0, in = 0.0;
        for (const LinkShare& entry : there) {
          EXPECT_GT(entry.share, 0.0);
          const std::string link = topology.link_name(entry.link);
          if (!link.starts_with("node ") || link.find(" nic ") == std::string::npos) continue;
          (link.ends_with(" out") ? out : in) += entry.share;
        }
        const double leaves = from / in_node == to / in_node ? 0.0 : 1.0;
        EXPECT_NEAR(out, leaves, 1e-9) << platform.name << " " << from << " to " << to;
        EXPECT_NEAR(in, leaves, 1e-9) << platform.name << " " << from << " to " << to;
      }
    }
  }
}

TEST(DrawnMachines, HaveCapacitiesAndRatesInProportionToTheirLinks) {
  for (const Platform& platform : machines(80, 5)) {
    const Platform twice = wider(platform, 2.0);
    const Topology narrow(platform, platform.nodes), wide(twice, platform.nodes);
    ASSERT_EQ(narrow.link_count(), wide.link_count());
    for (std::int32_t link = 0; link < narrow.link_count(); ++link) {
      EXPECT_EQ(2.0 * narrow.capacity(link).value, wide.capacity(link).value)
          << narrow.link_name(link);
    }
    const AxisRates rates(platform), faster(twice);
    for (const AxisOfJob& axis : axes_of(std::min<std::int64_t>(platform.devices(), 48))) {
      EXPECT_NEAR(faster.rate(axis.stride, axis.extent, axis.devices).value /
                      rates.rate(axis.stride, axis.extent, axis.devices).value,
                  2.0, 1e-9)
          << platform.name << " " << axis.stride << " x " << axis.extent;
    }
  }
}

// Of a ring of one member in each of some nodes, each node sends once and receives once.
TEST(DrawnMachines, BalanceTheirNodesInARing) {
  for (const Platform& platform : machines(40, 5)) {
    const Topology topology(platform, platform.nodes);
    for (std::int64_t extent : {2, 3, 4, 7}) {
      std::vector<std::int64_t> members;
      for (std::int64_t i = 0; i < std::min(extent, platform.nodes); ++i) {
        members.push_back(i * platform.node.devices + i % platform.node.devices);
      }
      std::map<LinkKind, double> shares = by_kind(topology, topology.ring_footprint(members, 0));
      const double nodes = members.size() > 1 ? static_cast<double>(members.size()) : 0.0;
      EXPECT_NEAR(shares[LinkKind::nic_out], nodes, 1e-9) << platform.name;
      EXPECT_NEAR(shares[LinkKind::nic_in], nodes, 1e-9) << platform.name;
    }
  }
}

// Half the NICs' bandwidth makes nothing faster and nothing more than twice as slow.
TEST(DrawnMachines, AreNoFasterWithSlowerNics) {
  int slower = 0;
  for (const Platform& platform : machines(60, 6)) {
    Platform half = platform;
    for (Nic& one : half.node.nics) one.bandwidth *= 0.5;
    const AxisRates rates(platform), of_half(half);
    for (const AxisOfJob& axis : axes_of(std::min<std::int64_t>(platform.devices(), 48))) {
      const double part = of_half.rate(axis.stride, axis.extent, axis.devices).value /
                          rates.rate(axis.stride, axis.extent, axis.devices).value;
      EXPECT_GE(part, 0.5 - 1e-9) << platform.name;
      EXPECT_LE(part, 1.0 + 1e-9) << platform.name;
      slower += part < 1.0 ? 1 : 0;
    }
  }
  EXPECT_GT(slower, 100);
}

// The closed form is what footprints add up to for most axes, and never far from it.
class Closeness {
 public:
  void look_at(const Platform& platform, std::int64_t devices) {
    const AxisRates rates(platform);
    for (const AxisOfJob& axis : axes_of(devices)) {
      const double closed = rates.rate(axis.stride, axis.extent, axis.devices).value;
      const double part = closed / brute_force(platform, axis);
      EXPECT_GT(part, 0.36) << platform.name << " " << axis.stride << " x " << axis.extent;
      EXPECT_LT(part, 3.01) << platform.name << " " << axis.stride << " x " << axis.extent;
      ++all_;
      equal_ += std::abs(part - 1.0) < 1e-6 ? 1 : 0;
    }
  }
  double share_of_equal() const { return static_cast<double>(equal_) / static_cast<double>(all_); }

 private:
  std::int64_t all_ = 0, equal_ = 0;
};

TEST(DrawnMachines, HaveRatesThatFootprintsAddUpTo) {
  Closeness closeness;
  for (const Platform& platform : machines(60, 6)) {
    const std::int64_t in_node = platform.node.devices;
    std::set<std::int64_t> jobs{in_node, platform.devices(), 12, platform.devices() / 2 + 1};
    for (std::int64_t devices : jobs) {
      if (devices <= platform.devices() && devices <= 72) closeness.look_at(platform, devices);
    }
  }
  EXPECT_GT(closeness.share_of_equal(), 0.82);
}

// Where the network is wide, the nodes alone bind, and their table is what footprints add up to:
// for every stride and extent, of jobs that fill their nodes and of jobs that do not.
TEST(DrawnMachines, OnAWideNetworkRunAsTheirNodesAllow) {
  MachineDraw draw(13);
  for (int round = 0; round < 24; ++round) {
    Platform platform;
    platform.node = draw.node();
    platform.nodes = 64;
    platform.network = TorusNetwork{{64}, {1e18}};
    const AxisRates rates(platform);
    for (std::int64_t block_extent = 2; block_extent <= 40; ++block_extent) {
      for (std::int64_t stride = 1; stride <= platform.node.devices + 2; ++stride) {
        for (std::int64_t blocks : {1, 2, 5}) {
          const AxisOfJob axis{stride, block_extent, stride * block_extent * blocks};
          if (axis.devices > platform.devices() || axis.devices > 120) continue;
          const double closed = rates.rate(axis.stride, axis.extent, axis.devices).value;
          ASSERT_NEAR(closed / brute_force(platform, axis), 1.0, 1e-9)
              << "round " << round << ", " << axis.stride << " x " << axis.extent << " of "
              << axis.devices;
        }
      }
    }
  }
}

// Leaves side by side with narrow ways up, and jobs that end within a unit and within a node.
TEST(DrawnMachines, OnRailsHaveRatesThatFootprintsAddUpTo) {
  MachineDraw draw(14);
  Closeness closeness;
  for (int round = 0; round < 40; ++round) {
    Platform platform;
    platform.name = "rails";
    platform.node = draw.node();
    const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
    const std::int64_t members = draw.between(2, 6);
    platform.nodes = 3 * members;
    const std::int64_t rails = nics % 2 == 0 && round % 2 == 0 ? nics / 2 : nics;
    platform.network = FatTreeNetwork{{2e9}, rails, {{members, 1.5}, {3, 1.0}}};
    for (std::int64_t devices : {platform.devices(), platform.devices() / 3 - 1}) {
      closeness.look_at(platform, devices);
    }
  }

  EXPECT_GT(closeness.share_of_equal(), 0.89);
}

// A crossbar gives each device the first NIC's rate, whatever the others have; one device alone
// moves nothing on any network.
TEST(DrawnMachines, OnACrossbarHaveTheirFirstNicsRate) {
  MachineDraw draw(15);
  for (int round = 0; round < 20; ++round) {
    Platform platform = draw.machine(round);
    EXPECT_TRUE(std::isinf(AxisRates(platform).rate(2, 1, 4).value));
    platform.network = CrossbarNetwork{round % 2 == 0};
    const Topology topology(platform, platform.nodes, 3);
    const AxisRates rates(platform);

    EXPECT_TRUE(std::isinf(rates.rate(2, 1, 4).value));
    EXPECT_EQ(rates.rate(2, 3, 12).value, platform.node.nics.front().bandwidth.value);
    const std::int32_t ports = round % 2 == 0 ? 3 : 1;
    EXPECT_EQ(topology.link_count(), topology.devices() * 2 * ports);
    for (std::int32_t link = 0; link < topology.link_count(); ++link) {
      EXPECT_EQ(topology.capacity(link).value, platform.node.nics.front().bandwidth.value);
      EXPECT_EQ(topology.link_class(link), "port");
    }
  }
}

// Of the parts that a link between parts joins: groups, cells or routers.
bool ends_of(const std::string& link, int& from, int& to) {
  for (const char* form :
       {"group %d -> group %d", "cell %d -> cell %d", "router %d -> router %d"}) {
    if (std::sscanf(link.c_str(), form, &from, &to) == 2) return true;
  }
  return false;
}

std::int64_t nodes_of_a_part(const Network& network) {
  if (const auto* groups = std::get_if<DragonflyNetwork>(&network)) return groups->nodes_per_group;
  if (const auto* cells = std::get_if<DragonflyPlusNetwork>(&network)) return cells->nodes_per_cell;
  return 1;
}

// What reaches a group, a cell or a router leaves it, but for the ends.
TEST(DrawnMachines, LoseNothingOfAMessageBetweenParts) {
  for (const Platform& platform : machines(60, 7)) {
    if (std::holds_alternative<FatTreeNetwork>(platform.network)) continue;
    const Topology topology(platform, platform.nodes);
    const std::int64_t part = nodes_of_a_part(platform.network) * platform.node.devices;
    for (std::int64_t from = 0; from < topology.devices(); from += 3) {
      for (std::int64_t to = 1; to < topology.devices(); to += 4) {
        if (from / part == to / part) continue;
        Footprint path;
        topology.route(from, to, path);
        std::map<std::int64_t, double> balance;
        for (const LinkShare& hop : path) {
          int a = 0, b = 0;
          if (!ends_of(topology.link_name(hop.link), a, b)) continue;
          balance[a] -= hop.share;
          balance[b] += hop.share;
        }
        for (const auto& [place, net] : balance) {
          const double expected = place == from / part ? -1.0 : place == to / part ? 1.0 : 0.0;
          ASSERT_NEAR(net, expected, 1e-9) << platform.name << ' ' << from << " to " << to;
        }
      }
    }
  }
}

TEST(DrawnMachines, NameEveryLinkOnce) {
  for (const Platform& platform : machines(60, 8)) {
    const Topology topology(platform, platform.nodes);
    std::map<std::string, int> seen;
    for (std::int32_t link = 0; link < topology.link_count(); ++link) {
      // Several links may join the same two devices of a node.
      if (topology.kind(link) != LinkKind::inner) ++seen[topology.link_name(link)];
    }
    for (const auto& [link, times] : seen) EXPECT_EQ(times, 1) << platform.name << ' ' << link;
  }
}

// A job may end anywhere in the machine: routes are those of the same devices in a larger job.
TEST(DrawnMachines, RouteAsInALargerJob) {
  const auto links = [](const Topology& topology, std::int64_t from, std::int64_t to) {
    Footprint path;
    topology.route(from, to, path);
    std::vector<std::string> all;
    for (const LinkShare& hop : path) {
      all.push_back(fmt::format("{} {:.9g} {:.9g}", topology.link_name(hop.link), hop.share,
                                topology.capacity(hop.link).value));
    }
    return all;
  };
  for (const Platform& platform : machines(40, 9)) {
    const std::int64_t few = platform.nodes / 2 + 1;
    const Topology part(platform, std::min(few, platform.nodes));
    const Topology whole(platform, platform.nodes);
    for (std::int64_t from = 0; from < part.devices(); from += 2) {
      for (std::int64_t to = 0; to < part.devices(); to += 3) {
        ASSERT_EQ(links(part, from, to), links(whole, from, to)) << platform.name;
      }
    }
  }
}

// Whole nodes, each once; spread in turn over the parts of the network, as many in each.
TEST(DrawnMachines, ArePlacedNodeByNode) {
  int spread = 0;
  for (const Platform& platform : machines(40, 10)) {
    const std::int64_t in_node = platform.node.devices;
    for (std::int64_t ranks : {platform.devices(), platform.devices() / 2 + 1}) {
      std::vector<Mapping> mappings{Mapping::random(ranks, platform, 4)};
      try {
        mappings.push_back(Mapping::spread(ranks, platform));
        ++spread;
      } catch (const std::invalid_argument& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("spread")) << platform.name;
      }
      for (const Mapping& mapping : mappings) {
        ASSERT_EQ(std::ssize(mapping.devices), ranks);
        std::set<std::int64_t> nodes;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          const std::int64_t device = mapping.devices[static_cast<std::size_t>(rank)];
          EXPECT_EQ(device % in_node, rank % in_node) << platform.name;
          EXPECT_TRUE(device >= 0 && device < platform.devices());
          if (rank % in_node == 0) {
            EXPECT_TRUE(nodes.insert(device / in_node).second);
          }
          EXPECT_TRUE(nodes.contains(device / in_node)) << platform.name << " rank " << rank;
        }
      }
      if (platform.nodes > 4) {
        EXPECT_NE(mappings[0].devices, Mapping::packed(ranks).devices) << platform.name;
      }
      EXPECT_EQ(Mapping::random(ranks, platform, 4).devices, mappings[0].devices);
    }
  }
  EXPECT_GT(spread, 20);
}

// Every route crosses links that are declared, and every declared link is on a route.
TEST(DrawnMachines, ExportTheLinksThatTheirRoutesCross) {
  for (const Platform& platform : machines(24, 11)) {
    const std::int64_t devices = std::min<std::int64_t>(platform.devices() - 1, 17);
    if (devices < 1) continue;
    const std::string xml = simgrid_xml(platform, devices);
    const auto quoted_after = [&](const std::string& mark) {
      std::set<std::string> found;
      for (std::size_t at = xml.find(mark); at != std::string::npos; at = xml.find(mark, at + 1)) {
        const std::size_t begin = at + mark.size();
        found.insert(xml.substr(begin, xml.find('"', begin) - begin));
      }
      return found;
    };
    auto declared = quoted_after("<link id=\"");
    const auto crossed = quoted_after("<link_ctn id=\"");
    if (devices == 1) declared.clear();
    EXPECT_EQ(declared, crossed) << platform.name;
    EXPECT_EQ(quoted_after("<host id=\"").size(), static_cast<std::size_t>(devices));
  }
}

}  // namespace
}  // namespace fourfold::tests
