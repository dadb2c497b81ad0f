// Dragonfly+: routes link by link, nothing of a message lost, and the
// closed form against the sum over all lines.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "platforms/mapping.hpp"
#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

// Cells of 16 nodes on 4 leaves; 16 NICs on a leaf that has `uplinks` links up.
Platform plus(std::int64_t cells, std::int64_t uplinks, std::int64_t detours) {
  Platform platform;
  platform.name = "plus";
  platform.node = mesh_node(4, 100);
  platform.nodes = cells * 16;
  platform.network =
      DragonflyPlusNetwork{cells, 4, 16, uplinks, 8, {25 * giga}, {25 * giga}, detours};
  return platform;
}

std::vector<std::string> names(const Topology& topology, std::int64_t from, std::int64_t to) {
  std::vector<std::int32_t> path;
  topology.minimal_route(from, to, path);
  std::vector<std::string> names;
  for (std::int32_t link : path) names.push_back(topology.link_name(link));
  return names;
}

TEST(dragonfly_plus, climbs_to_the_spines_and_crosses_one_bundle) {
  const Platform platform = plus(4, 8, 0);
  const Topology topology(platform, platform.nodes);
  using Names = std::vector<std::string>;

  EXPECT_EQ(names(topology, 0, 12), (Names{"node 0 nic 0 out", "node 3 nic 0 in"}));
  EXPECT_EQ(names(topology, 1, 63), (Names{"node 0 nic 1 out", "cell 0 leaf 0 up",
                                           "cell 0 leaf 3 down", "node 15 nic 3 in"}));
  EXPECT_EQ(names(topology, 20, 192),
            (Names{"node 5 nic 0 out", "cell 0 leaf 1 up", "cell 0 -> cell 3", "cell 3 leaf 0 down",
                   "node 48 nic 0 in"}));
}

TEST(dragonfly_plus, has_the_capacity_of_its_bundles) {
  const Platform platform = plus(4, 6, 0);
  const Topology topology(platform, platform.nodes);
  int leaf = 0;
  int global = 0;
  for (std::int32_t link = 0; link < topology.link_count(); ++link) {
    if (topology.kind(link) == LinkKind::leaf) {
      ++leaf;
      EXPECT_DOUBLE_EQ(topology.capacity(link).value, 6 * 25 * giga);
    } else if (topology.kind(link) == LinkKind::global) {
      ++global;
      EXPECT_DOUBLE_EQ(topology.capacity(link).value, 8 * 25 * giga);
    }
  }
  EXPECT_EQ(leaf, 4 * 4 * 2);
  EXPECT_EQ(global, 4 * 3);
}

// All of a message leaves its leaf, all of it arrives, and what enters a cell leaves it.
TEST(dragonfly_plus, detours_go_through_whole_cells_and_lose_nothing) {
  const Platform platform = plus(6, 8, 3);
  const Topology topology(platform, platform.nodes);
  Footprint path;

  topology.route(0, 5 * 64, path);

  std::map<std::string, double> share;
  double out = 0.0;
  double in = 0.0;
  for (const LinkShare& entry : path) {
    const std::string name = topology.link_name(entry.link);
    share[name] += entry.share;
    if (name.starts_with("cell 0 -> ")) out += entry.share;
    if (name.ends_with(" -> cell 5")) in += entry.share;
  }
  EXPECT_DOUBLE_EQ(share["cell 0 leaf 0 up"], 1.0);
  EXPECT_DOUBLE_EQ(share["cell 5 leaf 0 down"], 1.0);
  EXPECT_DOUBLE_EQ(share["cell 0 -> cell 5"], 0.25);
  EXPECT_DOUBLE_EQ(out, 1.0);
  EXPECT_DOUBLE_EQ(in, 1.0);
  EXPECT_EQ(share.size(), 2U + 2U + 1U + 6U);
  for (int via = 1; via < 5; ++via) {
    EXPECT_EQ(share.contains("cell 0 -> cell " + std::to_string(via)),
              share.contains("cell " + std::to_string(via) + " -> cell 5"));
  }
}

TEST(dragonfly_plus_rate, equals_brute_force_with_minimal_routes) {
  for (std::int64_t devices : {16, 24, 64, 96, 128, 384, 480, 512}) {
    for (std::int64_t uplinks : {16, 5}) {
      const Errors found = errors(plus(8, uplinks, 0), devices);

      EXPECT_LT(found.worst_factor, 1.0 + 1e-9) << devices << " devices, " << uplinks;
    }
  }
}

TEST(dragonfly_plus_rate, equals_brute_force_with_detours_on_powers_of_two) {
  for (std::int64_t devices : {64, 128, 512}) {
    for (std::int64_t detours : {3, 6}) {
      EXPECT_LT(errors(plus(8, 8, detours), devices).worst_factor, 1.0 + 1e-9) << devices;
    }
  }
}

// Which cells the detours of a pair go through is drawn, and the closed form has their mean: a link
// can get more. With as many detours as cells nothing is drawn.
TEST(dragonfly_plus_rate, is_off_by_what_is_drawn_alone_on_irregular_grids) {
  for (std::int64_t devices : {96, 384, 480}) {
    const Errors some = errors(plus(8, 16, 3), devices);
    const Errors all = errors(plus(8, 16, 6), devices);

    EXPECT_LT(some.mean, 0.003) << devices;
    EXPECT_LT(some.worst_factor, 1.17) << devices;
    EXPECT_LT(all.worst_factor, 1.0 + 1e-9) << devices;
  }
}

// Cells of 48 nodes on 10 leaves and of 180 on 18, no power of two.
TEST(dragonfly_plus_rate, of_the_machines_is_near_brute_force) {
  for (const char* name : {"juwels-booster", "leonardo"}) {
    for (std::int64_t devices : {256, 1024, 1536}) {
      const Errors found = errors(read_platform(name), devices);

      EXPECT_LT(found.mean, 0.006) << name << " " << devices;
      EXPECT_LT(found.worst_factor, 1.14) << name << " " << devices;
    }
  }
}

// Neighbouring leaves exchange all: 16 NICs go up through 8 links.
TEST(dragonfly_plus_rate, is_the_taper_of_a_leaf_that_everybody_leaves) {
  const AxisRates rates(plus(4, 8, 0));

  EXPECT_NEAR(rates.rate(16, 2, 32).value, 25 * giga * 8 / 16, 1.0);
  EXPECT_NEAR(rates.rate(4, 4, 16).value, 25 * giga, 1.0);
}

TEST(dragonfly_plus, is_spread_over_cell_by_cell) {
  const Mapping mapping = Mapping::spread(16, plus(4, 8, 0));

  EXPECT_EQ(mapping.devices[4], 16 * 4);
  EXPECT_EQ(mapping.devices[8], 32 * 4);
}

TEST(dragonfly_plus, global_bandwidth_scales_the_links_between_cells_alone) {
  const Platform half = read_platform("juwels-booster", {{"network.global_bandwidth", 0.5}});
  const auto& network = std::get<DragonflyPlusNetwork>(half.network);

  EXPECT_DOUBLE_EQ(network.global_link_bandwidth.value, 12.5 * giga);
  EXPECT_DOUBLE_EQ(network.link_bandwidth.value, 25 * giga);
}

}  // namespace
}  // namespace fourfold::tests
