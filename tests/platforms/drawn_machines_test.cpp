// Routes, rings, rates, placements and exports of drawn machines: what holds for all of them, and
// a golden line for each, so that no number of a network or a node can move unseen.
#include "tests/platforms/drawn_machines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "platforms/mapping.hpp"
#include "platforms/show/simgrid_xml.hpp"
#include "tests/golden.hpp"
#include "tests/platforms/brute_force.hpp"

namespace fourfold {
namespace {

using test::axes_of;
using test::AxisOfJob;
using test::brute_force;
using test::MachineDraw;

std::vector<Platform> machines(int count, unsigned seed) {
  MachineDraw draw(seed);
  std::vector<Platform> all;
  for (int number = 0; number < count; ++number) all.push_back(draw.machine(number));
  return all;
}

// Sums by kind of link, and one by place, so that loads that swap links show.
class Loads {
 public:
  explicit Loads(const Topology& topology) : topology_(topology) {}
  void add(const Footprint& footprint) {
    for (const LinkShare& entry : footprint) {
      by_kind_[name(topology_.kind(entry.link))] += entry.share;
      places_ += entry.share * static_cast<double>(1 + entry.link % 997) *
                 static_cast<double>(1 + count_ % 31);
    }
    ++count_;
  }
  std::string text() const {
    std::string text = fmt::format("places {:.9g}", places_);
    for (const auto& [kind, share] : by_kind_) text += fmt::format(" {} {:.8g}", kind, share);
    return text;
  }

 private:
  const Topology& topology_;
  std::map<std::string, double> by_kind_;
  double places_ = 0.0;
  std::int64_t count_ = 0;
};

std::string links_text(const Topology& topology) {
  std::map<std::string, std::pair<int, double>> kinds;
  for (std::int32_t link = 0; link < topology.link_count(); ++link) {
    auto& [count, capacity] = kinds[name(topology.kind(link))];
    ++count;
    capacity += topology.capacity(link).value / 1e9 * (1 + link % 7);
  }
  std::string text;
  for (const auto& [kind, sum] : kinds) {
    text += fmt::format(" {} {} {:.9g}", sum.first, kind, sum.second);
  }
  return text;
}

std::vector<std::vector<std::int64_t>> some_rings(std::int64_t devices) {
  std::vector<std::vector<std::int64_t>> rings;
  for (std::int64_t step : {1, 2, 3, 5, 7}) {
    for (std::int64_t extent : {2, 3, 5, 8}) {
      std::vector<std::int64_t> members;
      for (std::int64_t i = 0; i < extent; ++i) {
        const std::int64_t device = (step + i * step + (i % 3 == 2 ? 1 : 0)) % devices;
        if (std::find(members.begin(), members.end(), device) == members.end()) {
          members.push_back(device);
        }
      }
      rings.push_back(members);
    }
  }
  return rings;
}

TEST(DrawnMachines, HaveTheGoldenRoutesAndRings) {
  std::string text;
  for (const Platform& platform : machines(80, 5)) {
    const Topology topology(platform, platform.nodes);
    const std::int64_t devices = topology.devices();
    Loads routed(topology), minimal(topology), rings(topology);
    const std::int64_t step = std::max<std::int64_t>(1, devices / 40);
    for (std::int64_t from = 0; from < devices; from += step) {
      for (std::int64_t to = 0; to < devices; to += step) {
        Footprint path;
        topology.route(from, to, path);
        routed.add(path);
        std::vector<std::int32_t> links;
        topology.minimal_route(from, to, links);
        Footprint whole;
        for (std::int32_t link : links) whole.push_back({link, 1.0});
        minimal.add(whole);
      }
    }
    for (const std::vector<std::int64_t>& members : some_rings(devices)) {
      rings.add(topology.ring_footprint(members, 0));
    }
    text += fmt::format("{} {} {} x {}:{}\n", platform.name, kind_in_words(platform.network),
                        platform.nodes, platform.node.devices, links_text(topology));
    text += fmt::format("  routes {}\n  minimal {}\n  rings {}\n", routed.text(), minimal.text(),
                        rings.text());
  }

  expect_golden("drawn_routes.txt", text);
}

// The rate along every axis of a job in GB/s, beside what footprints add up to where that differs.
std::string rates_text(const Platform& platform, const AxisRates& rates, std::int64_t devices) {
  std::string text;
  for (const AxisOfJob& axis : axes_of(devices)) {
    const double closed = rates.rate(axis.stride, axis.extent, axis.devices).value;
    const double added = brute_force(platform, axis);
    text += fmt::format(" {}x{} {:.7g}", axis.stride, axis.extent, closed / 1e9);
    if (std::abs(closed / added - 1.0) > 1e-6) text += fmt::format("/{:.7g}", added / 1e9);
  }
  return text + '\n';
}

TEST(DrawnMachines, HaveTheGoldenRates) {
  std::string text;
  for (const Platform& platform : machines(60, 6)) {
    const AxisRates rates(platform);
    const std::int64_t in_node = platform.node.devices;
    std::set<std::int64_t> jobs{in_node, platform.devices(), 12, platform.devices() / 2 + 1};
    for (std::int64_t devices : jobs) {
      if (devices > platform.devices() || devices > 72) continue;
      text += fmt::format("{} {}:", platform.name, devices);
      text += rates_text(platform, rates, devices);
    }
  }

  expect_golden("drawn_rates.txt", text);
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
TEST(DrawnMachines, OnRailsHaveTheGoldenRates) {
  MachineDraw draw(14);
  std::string text;
  for (int round = 0; round < 40; ++round) {
    Platform platform;
    platform.name = "rails";
    platform.node = draw.node();
    const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
    const std::int64_t members = draw.between(2, 6);
    platform.nodes = 3 * members;
    const std::int64_t rails = nics % 2 == 0 && round % 2 == 0 ? nics / 2 : nics;
    platform.network = FatTreeNetwork{{2e9}, rails, {{members, 1.5}, {3, 1.0}}};
    const AxisRates rates(platform);
    for (std::int64_t devices : {platform.devices(), platform.devices() / 3 - 1}) {
      text += fmt::format("{} nodes of {}, {} rails, {}:", members, platform.node.devices, rails,
                          devices);
      text += rates_text(platform, rates, devices);
    }
  }

  expect_golden("drawn_rails.txt", text);
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
  const auto names = [](const Topology& topology, std::int64_t from, std::int64_t to) {
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
        ASSERT_EQ(names(part, from, to), names(whole, from, to)) << platform.name;
      }
    }
  }
}

TEST(DrawnMachines, HaveTheGoldenPlacements) {
  std::string text;
  for (const Platform& platform : machines(40, 10)) {
    for (std::int64_t ranks : {platform.devices(), platform.devices() / 2 + 1}) {
      text += fmt::format("{} random {}\n", platform.name,
                          fmt::join(Mapping::random(ranks, platform, 4).devices, " "));
      try {
        text += fmt::format("{} spread {}\n", platform.name,
                            fmt::join(Mapping::spread(ranks, platform).devices, " "));
      } catch (const std::invalid_argument& error) {
        text += fmt::format("{}\n", error.what());
      }
    }
  }

  expect_golden("drawn_placements.txt", text);
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
}  // namespace fourfold
