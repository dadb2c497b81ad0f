// Every axis, route and placement of the tests' own machines, which are small enough for all of
// them: rates by the closed form and by adding up footprints, loads by class of link.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "platforms/mapping.hpp"
#include "platforms/node/rings.hpp"
#include "tests/machines.hpp"
#include "tests/platforms/brute_force.hpp"

namespace fourfold::tests {
namespace {

Platform machine(const std::string& name) {
  return read_platform(path_of_machine(name));
}

// Jobs of whole nodes, of which each network has several parts, and one that ends within a node.
std::vector<std::int64_t> jobs_on(const Platform& platform) {
  const std::int64_t in_node = platform.node.devices;
  return {in_node, 4 * in_node, 6 * in_node, 12 * in_node, 15 * in_node, 9 * in_node + in_node / 2};
}

// Equal but on detours, whose ways the closed form takes as spread evenly.
TEST(SmallMachines, HaveRatesThatFootprintsAddUpTo) {
  for (const char* name : fixed_machines) {
    const Platform platform = machine(name);
    const AxisRates rates(platform);
    int all = 0, equal = 0;
    for (std::int64_t devices : jobs_on(platform)) {
      for (const AxisOfJob& axis : axes_of(devices)) {
        const double part =
            rates.rate(axis.stride, axis.extent, axis.devices).value / brute_force(platform, axis);
        EXPECT_GT(part, 0.47) << name << " " << axis.stride << " x " << axis.extent;
        EXPECT_LT(part, 1.61) << name << " " << axis.stride << " x " << axis.extent;
        ++all;
        equal += std::abs(part - 1.0) < 1e-9 ? 1 : 0;
      }
    }
    const std::string network = name;
    const double least = network == "dragonfly" ? 0.2 : network.starts_with("torus") ? 0.6 : 0.94;
    EXPECT_GE(equal, least * all) << name;
    if (network.starts_with("fat-tree") || network.starts_with("crossbar")) {
      EXPECT_EQ(equal, all);
    }
  }
}

// Of a ring of one member in each of some nodes, each node sends what it receives.
TEST(SmallMachines, BalanceTheirNodesInARing) {
  for (const char* name : fixed_machines) {
    const Platform platform = machine(name);
    const Topology topology(platform, std::min<std::int64_t>(platform.nodes, 24));
    const std::int64_t in_node = platform.node.devices;
    for (std::int64_t extent : {2, 3, 4, 7, 10}) {
      std::vector<std::int64_t> members;
      for (std::int64_t i = 0; i < extent; ++i) {
        const std::int64_t device = i * 2 * in_node + i % in_node;
        if (device < topology.devices()) members.push_back(device);
      }
      double out = 0.0, in = 0.0;
      for (const LinkShare& entry : topology.ring_footprint(members, 0)) {
        const std::string link = topology.link_name(entry.link);
        if (link.starts_with("node ") && link.ends_with(" out")) out += entry.share;
        if (link.starts_with("node ") && link.ends_with(" in")) in += entry.share;
      }
      EXPECT_NEAR(out, in, 1e-9) << name << " " << members.size();
      if (!std::string(name).starts_with("crossbar")) {
        EXPECT_NEAR(out, static_cast<double>(members.size()), 1e-9) << name;
      }
    }
  }
}

}  // namespace
}  // namespace fourfold::tests
