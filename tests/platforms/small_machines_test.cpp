// Every axis, route and placement of the tests' own machines, which are small enough for all of
// them: rates by the closed form and by adding up footprints, loads by class of link.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "platforms/mapping.hpp"
#include "platforms/node/rings.hpp"
#include "tests/golden.hpp"
#include "tests/machines.hpp"
#include "tests/platforms/brute_force.hpp"

namespace fourfold {
namespace {

using test::axes_of;
using test::AxisOfJob;
using test::brute_force;
using testing::fixed_machines;
using testing::path_of_machine;

Platform machine(const std::string& name) {
  return read_platform(path_of_machine(name));
}

// Jobs of whole nodes, of which each network has several parts, and one that ends within a node.
std::vector<std::int64_t> jobs_on(const Platform& platform) {
  const std::int64_t in_node = platform.node.devices;
  return {in_node, 4 * in_node, 6 * in_node, 12 * in_node, 15 * in_node, 9 * in_node + in_node / 2};
}

TEST(SmallMachines, HaveTheGoldenRatesAlongEveryAxis) {
  std::string text;
  for (const char* name : fixed_machines) {
    const Platform platform = machine(name);
    const AxisRates rates(platform);
    for (std::int64_t devices : jobs_on(platform)) {
      text += fmt::format("{} {}:", name, devices);
      for (const AxisOfJob& axis : axes_of(devices)) {
        const double closed = rates.rate(axis.stride, axis.extent, axis.devices).value;
        const double added = brute_force(platform, axis);
        text += fmt::format(" {}x{} {:.7g}", axis.stride, axis.extent, closed);
        if (std::abs(closed / added - 1.0) > 1e-9) text += fmt::format("/{:.7g}", added);
      }
      text += '\n';
    }
  }

  expect_golden("small_rates.txt", text);
}

struct Loads {
  std::map<std::string, double> by_class;
  std::vector<double> by_link;
};

void add(const Topology& topology, const Footprint& footprint, Loads& loads) {
  loads.by_link.resize(static_cast<std::size_t>(topology.link_count()));
  for (const LinkShare& entry : footprint) {
    loads.by_class[topology.link_class(entry.link)] += entry.share;
    loads.by_link[static_cast<std::size_t>(entry.link)] += entry.share;
  }
}

std::string text_of(const Topology& topology, const Loads& loads) {
  std::string text;
  for (const auto& [link_class, share] : loads.by_class) {
    text += fmt::format(" {} {:.8g}", link_class, share);
  }
  // By the place of each link, so that loads that swap links show.
  double places = 0.0;
  std::size_t busiest = 0;
  for (std::size_t i = 0; i < loads.by_link.size(); ++i) {
    places += loads.by_link[i] * static_cast<double>(1 + i % 997);
    if (loads.by_link[i] > 1.000001 * loads.by_link[busiest]) busiest = i;
  }
  return text + fmt::format("; places {:.9g}, most {:.6g} on {}\n", places, loads.by_link[busiest],
                            topology.link_name(static_cast<std::int32_t>(busiest)));
}

TEST(SmallMachines, HaveTheGoldenRoutesBetweenAllDevices) {
  std::string text;
  for (const char* name : fixed_machines) {
    const Platform platform = machine(name);
    const Topology topology(platform, std::min<std::int64_t>(platform.nodes, 24));
    Loads spread, minimal;
    for (std::int64_t from = 0; from < topology.devices(); ++from) {
      for (std::int64_t to = 0; to < topology.devices(); ++to) {
        if (from == to) continue;
        Footprint path;
        topology.route(from, to, path);
        add(topology, path, spread);
        std::vector<std::int32_t> links;
        topology.minimal_route(from, to, links);
        for (std::int32_t link : links) add(topology, {{link, 1.0}}, minimal);
      }
    }
    text += fmt::format("{}, as routed:{}", name, text_of(topology, spread));
    text += fmt::format("{}, minimal:{}", name, text_of(topology, minimal));
  }

  expect_golden("small_routes.txt", text);
}

// Members that lie in order, apart, backwards and unevenly in nodes.
TEST(SmallMachines, HaveTheGoldenRings) {
  std::string text;
  for (const char* name : fixed_machines) {
    const Platform platform = machine(name);
    const Topology topology(platform, std::min<std::int64_t>(platform.nodes, 24));
    const std::int64_t devices = topology.devices();
    for (std::int64_t step : {1, 2, 3, 5, 7, 11}) {
      for (std::int64_t extent : {2, 3, 4, 7, 10}) {
        std::vector<std::int64_t> members;
        for (std::int64_t i = 0; i < extent; ++i) {
          const std::int64_t device = (3 + (i % 3 == 2 ? i * step + 1 : i * step)) % devices;
          if (std::find(members.begin(), members.end(), device) == members.end()) {
            members.push_back(device);
          }
        }
        if (members.size() < 2) continue;
        Loads loads;
        add(topology, topology.ring_footprint(members, 0), loads);
        text += fmt::format("{} {}:{}", name, fmt::join(members, ","), text_of(topology, loads));
      }
    }
  }

  expect_golden("small_rings.txt", text);
}

TEST(SmallMachines, HaveTheGoldenPlacements) {
  std::string text;
  for (const char* name : fixed_machines) {
    const Platform platform = machine(name);
    const std::int64_t ranks = 5 * platform.node.devices + 1;
    text += fmt::format("{} random {}\n", name,
                        fmt::join(Mapping::random(ranks, platform, 8).devices, " "));
    try {
      text += fmt::format("{} spread {}\n", name,
                          fmt::join(Mapping::spread(ranks, platform).devices, " "));
    } catch (const std::invalid_argument& error) {
      text += fmt::format("{}\n", error.what());
    }
  }

  expect_golden("small_placements.txt", text);
}

}  // namespace
}  // namespace fourfold
