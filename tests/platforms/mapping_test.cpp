// Placements; what a mapping refuses is in misfits_test.cpp, laws in drawn_machines_test.cpp.
#include "platforms/mapping.hpp"

#include <gtest/gtest.h>

#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

TEST(mapping, follows_any_order_of_devices) {
  const Mapping reversed{{3, 2, 1, 0}};

  EXPECT_EQ(reversed.apply({0, 1}), (std::vector<std::int64_t>{3, 2}));
}

TEST(mapping, spread_deals_nodes_out_to_groups) {
  const Platform frontier = read_platform("frontier");
  const Mapping mapping = Mapping::spread(80 * 8, frontier);

  // 77 groups of 128 nodes: the 78th node is the second one of the first group.
  EXPECT_EQ(mapping.devices[0], 0);
  EXPECT_EQ(mapping.devices[8], 128 * 8);
  EXPECT_EQ(mapping.devices[8 * 76 + 3], 76 * 128 * 8 + 3);
  EXPECT_EQ(mapping.devices[8 * 77], 8);
}

std::vector<std::int64_t> nodes_of(const Mapping& mapping, std::int64_t devices_per_node) {
  std::vector<std::int64_t> nodes;
  for (std::int64_t rank = 0; rank < mapping.ranks(); rank += devices_per_node) {
    nodes.push_back(mapping.devices[static_cast<std::size_t>(rank)] / devices_per_node);
  }
  return nodes;
}

// Of two tiers to leaves, of three to pods. The last has fewer nodes than fit, and two rails, which
// change nothing: parts that are full are passed over.
TEST(mapping, spread_on_a_tree_deals_nodes_out_to_the_parts_of_its_last_tier) {
  using Nodes = std::vector<std::int64_t>;
  const Platform leaves = fat_tree(switched_node(2, 300), 1, {{4, 1.0}, {3, 1.0}});
  const Platform pods = fat_tree(switched_node(2, 300), 1, {{2, 1.0}, {3, 2.0}, {3, 1.0}});
  Platform full = fat_tree(switched_node(2, 300), 2, {{2, 1.0}, {3, 1.0}});
  full.nodes = 5;

  EXPECT_EQ(nodes_of(Mapping::spread(16, leaves), 2), (Nodes{0, 4, 8, 1, 5, 9, 2, 6}));
  EXPECT_EQ(nodes_of(Mapping::spread(10, pods), 2), (Nodes{0, 6, 12, 1, 7}));
  EXPECT_EQ(nodes_of(Mapping::spread(10, full), 2), (Nodes{0, 2, 4, 1, 3}));
  EXPECT_EQ(nodes_of(Mapping::spread(9, full), 2), (Nodes{0, 2, 4, 1, 3}));
}

TEST(mapping, random_depends_on_its_seed) {
  const Platform frontier = read_platform("frontier");
  EXPECT_NE(Mapping::random(1000, frontier, 2).devices, Mapping::random(1000, frontier, 1).devices);
}

// The farthest a placement reaches decides, wherever in the list it stands.
TEST(Placements, NeedTheNodesUpToTheirLast) {
  EXPECT_EQ((Mapping{{21, 3, 7}}).nodes(4), 6);
  EXPECT_EQ((Mapping{{3, 21, 7}}).nodes(4), 6);
  EXPECT_EQ((Mapping{{3, 20, 7}}).nodes(4), 6);
  EXPECT_EQ((Mapping{{3, 19, 7}}).nodes(4), 5);
  EXPECT_EQ((Mapping{{0}}).nodes(1), 1);
}

}  // namespace
}  // namespace fourfold::tests
