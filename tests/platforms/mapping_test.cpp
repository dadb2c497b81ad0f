// Placements, what they leave as it is, and what a mapping refuses.
#include "platforms/mapping.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "platforms/network/topology.hpp"
#include "schedule/program/process_grid.hpp"
#include "tests/platforms/machines_for_tests.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

TEST(mapping, packed_puts_rank_r_on_device_r) {
  const Mapping mapping = Mapping::packed(12);

  EXPECT_EQ(mapping.ranks(), 12);
  EXPECT_EQ(mapping.apply({1, 5, 9}), (std::vector<std::int64_t>{1, 5, 9}));
}

TEST(mapping, counts_the_nodes_it_touches) {
  EXPECT_EQ(Mapping::packed(8).nodes(4), 2);
  EXPECT_EQ(Mapping::packed(9).nodes(4), 3);
  EXPECT_EQ((Mapping{{7, 3, 21}}).nodes(4), 6);
}

TEST(mapping, follows_any_order_of_devices) {
  const Mapping reversed{{3, 2, 1, 0}};

  EXPECT_EQ(reversed.apply({0, 1}), (std::vector<std::int64_t>{3, 2}));
}

TEST(mapping, refuses_an_empty_job_and_ranks_it_does_not_have) {
  const Mapping mapping = Mapping::packed(4);

  EXPECT_THROW(Mapping::packed(0), std::invalid_argument);
  EXPECT_THROW(mapping.apply({4}), std::out_of_range);
  EXPECT_THROW(mapping.apply({-1}), std::out_of_range);
}

TEST(mapping, spread_deals_nodes_out_to_groups) {
  const Platform frontier = read_platform("frontier");
  const Mapping mapping = Mapping::spread(80 * 8, frontier);

  // 77 groups of 128 nodes: the 78th node is the second one of the first group.
  EXPECT_EQ(mapping.devices[0], 0);
  EXPECT_EQ(mapping.devices[8], 128 * 8);
  EXPECT_EQ(mapping.devices[8 * 76 + 3], 76 * 128 * 8 + 3);
  EXPECT_EQ(mapping.devices[8 * 77], 8);
  EXPECT_THROW(Mapping::spread(8, read_platform("crossbar")), std::invalid_argument);
}

std::vector<std::int64_t> nodes_of(const Mapping& mapping, std::int64_t devices_per_node) {
  std::vector<std::int64_t> nodes;
  for (std::int64_t rank = 0; rank < mapping.ranks(); rank += devices_per_node) {
    nodes.push_back(mapping.devices[static_cast<std::size_t>(rank)] / devices_per_node);
  }
  return nodes;
}

TEST(mapping, spread_on_a_tree_of_two_tiers_deals_nodes_out_to_leaves) {
  const Platform tree = fat_tree(switched_node(2, 300), 1, {{4, 1.0}, {3, 1.0}});

  EXPECT_EQ(nodes_of(Mapping::spread(16, tree), 2),
            (std::vector<std::int64_t>{0, 4, 8, 1, 5, 9, 2, 6}));
}

TEST(mapping, spread_on_a_tree_of_three_tiers_deals_nodes_out_to_pods) {
  const Platform tree = fat_tree(switched_node(2, 300), 1, {{2, 1.0}, {3, 2.0}, {3, 1.0}});

  EXPECT_EQ(nodes_of(Mapping::spread(10, tree), 2), (std::vector<std::int64_t>{0, 6, 12, 1, 7}));
}

// 5 nodes of 3 x 2 are there, and 2 rails change nothing: the last part has one node.
TEST(mapping, spread_passes_over_parts_that_are_full) {
  Platform tree = fat_tree(switched_node(2, 300), 2, {{2, 1.0}, {3, 1.0}});
  tree.nodes = 5;

  EXPECT_EQ(nodes_of(Mapping::spread(10, tree), 2), (std::vector<std::int64_t>{0, 2, 4, 1, 3}));
  EXPECT_EQ(nodes_of(Mapping::spread(9, tree), 2), (std::vector<std::int64_t>{0, 2, 4, 1, 3}));
  EXPECT_THROW(Mapping::spread(11, tree), std::invalid_argument);
}

TEST(mapping, spread_needs_a_second_tier) {
  const Platform one_switch = fat_tree(switched_node(2, 300), 1, {{4, 1.0}});

  EXPECT_THROW(Mapping::spread(4, one_switch), std::invalid_argument);
}

TEST(mapping, random_depends_on_its_seed) {
  const Platform frontier = read_platform("frontier");
  EXPECT_NE(Mapping::random(1000, frontier, 2).devices, Mapping::random(1000, frontier, 1).devices);
}

// Whether three ranks on these devices, or as many nodes' ranks on these nodes, are refused.
bool refused(const Platform& platform, const std::vector<std::int64_t>& list) {
  int refusals = 0;
  const auto count = [&](const std::function<void()>& place) {
    refusals += refusal(place) == "accepted" ? 0 : 1;
  };
  count([&] { Mapping::on_devices(3, platform, list); });
  count([&] { Mapping::on_nodes(3 * platform.node.devices, platform, list); });
  EXPECT_NE(refusals, 1) << "devices and nodes alike";
  return refusals == 2;
}

TEST(mapping, refuses_lists_with_a_place_too_many_too_few_or_twice) {
  const Platform polaris = read_platform("polaris");

  EXPECT_FALSE(refused(polaris, {5, 0, 2}));
  EXPECT_TRUE(refused(polaris, {5, 0, 5}));
  EXPECT_TRUE(refused(polaris, {5, 0, polaris.devices()}));
  EXPECT_TRUE(refused(polaris, {5, 0, -1}));
  EXPECT_TRUE(refused(polaris, {5, 0}));
  EXPECT_TRUE(refused(polaris, {5, 0, 2, 3}));
}

// What a job's rings load on NICs and inside nodes, per byte: the bytes it moves.
double bytes_moved(const Mapping& mapping, const Platform& platform, const ProcessGrid& grid) {
  const Topology topology(platform, mapping.nodes(platform.node.devices));
  double moved = 0.0;
  for (Axis axis : all_axes) {
    for (std::int64_t first = 0; first < grid.size(); ++first) {
      if (first / grid.stride(axis) % grid.extent(axis) != 0) continue;
      std::vector<std::int64_t> line;
      for (std::int64_t i = 0; i < grid.extent(axis); ++i) {
        line.push_back(first + i * grid.stride(axis));
      }
      for (const LinkShare& load : topology.ring_footprint(mapping.apply(line), 0)) {
        const LinkKind kind = topology.kind(load.link);
        if (kind != LinkKind::local && kind != LinkKind::global) moved += load.share;
      }
    }
  }
  return moved;
}

TEST(mapping, placement_of_nodes_leaves_total_bytes_as_they_are) {
  const Platform frontier = read_platform("frontier");
  const ProcessGrid grid(4, 4, 4, 8);
  const double packed = bytes_moved(Mapping::packed(512), frontier, grid);

  EXPECT_NEAR(bytes_moved(Mapping::spread(512, frontier), frontier, grid) / packed, 1.0, 1e-12);
  EXPECT_NEAR(bytes_moved(Mapping::random(512, frontier, 1), frontier, grid) / packed, 1.0, 1e-12);
}

}  // namespace
}  // namespace fourfold::tests
