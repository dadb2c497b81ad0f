// Rings inside a node: the rates of the two node graphs of the study, and what every ring set
// obeys.
#include "platforms/node/rings.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <stdexcept>

#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold {
namespace {

using test::giga;
using test::mesh_node;
using test::mi250x_node;

DeviceSet set_of(std::initializer_list<int> devices) {
  DeviceSet set = 0;
  for (int device : devices) set |= DeviceSet{1} << device;
  return set;
}

double rate(const Node& node, std::initializer_list<int> devices) {
  return node_rings(NodeGraph(node), set_of(devices)).rate / giga;
}

TEST(node_graph, takes_the_direct_link_or_else_the_widest_then_shortest_path) {
  const NodeGraph graph(mi250x_node());

  const auto& direct = graph.path(0, 2);
  const auto& around = graph.path(0, 4);

  ASSERT_EQ(direct.size(), 1u);
  EXPECT_EQ(graph.capacity(direct[0]), 38 * giga);
  ASSERT_EQ(around.size(), 2u);
  EXPECT_EQ(graph.from(around[0]), 0);
  EXPECT_EQ(graph.to(around[0]), graph.from(around[1]));
  EXPECT_EQ(graph.to(around[1]), 4);
}

TEST(node_graph, prefers_two_wide_hops_to_two_narrow_ones) {
  Node node;
  node.devices = 4;
  node.links = {{0, 1, {1.0}, ""}, {1, 3, {9.0}, ""}, {0, 2, {2.0}, ""}, {2, 3, {2.0}, ""}};

  const NodeGraph graph(node);

  ASSERT_EQ(graph.path(0, 3).size(), 2u);
  EXPECT_EQ(graph.to(graph.path(0, 3)[0]), 2);
}

TEST(node_graph, refuses_a_node_in_two_pieces) {
  Node node;
  node.devices = 3;
  node.links = {{0, 1, {1.0}, ""}};

  EXPECT_THROW(NodeGraph{node}, std::invalid_argument);
}

TEST(node_graph, refuses_a_link_to_a_device_that_is_not_there) {
  Node node;
  node.devices = 2;
  node.links = {{0, 2, {1.0}, ""}};

  EXPECT_THROW(NodeGraph{node}, std::invalid_argument);
}

// The cut between the packages {0,1,6,7} and {2,3,4,5} is six single links; the two known rings of
// the node use four of them, each in both directions: 4 x 38.
TEST(node_rings, find_four_rings_of_single_links_among_the_eight_devices_of_an_mi250x_node) {
  EXPECT_NEAR(rate(mi250x_node(), {0, 1, 2, 3, 4, 5, 6, 7}), 152, 1e-6);
}

TEST(node_rings, of_some_devices_of_an_mi250x_node_follow_the_links_between_them) {
  const Node node = mi250x_node();

  EXPECT_NEAR(rate(node, {0, 1}), 148, 1e-6);
  EXPECT_NEAR(rate(node, {0, 2}), 38, 1e-6);
  EXPECT_NEAR(rate(node, {0, 6}), 76, 1e-6);
  EXPECT_NEAR(rate(node, {0, 4}), 38, 1e-6);
  EXPECT_NEAR(rate(node, {0, 2, 4, 6}), 76, 1e-6);
  EXPECT_NEAR(rate(node, {1, 3, 5, 7}), 76, 1e-6);
}

// Six directed Hamiltonian cycles, each at half the pair's width, use every direction of every
// pair.
TEST(node_rings, use_all_pairs_of_a_mesh_of_four) {
  EXPECT_NEAR(rate(mesh_node(4, 100), {0, 1, 2, 3}), 300, 1e-6);
  EXPECT_NEAR(rate(mesh_node(4, 100), {1, 3}), 100, 1e-6);
}

TEST(node_rings, never_load_a_link_beyond_its_capacity_and_fill_at_least_one) {
  const NodeGraph graph(mi250x_node());
  for (DeviceSet set = 1; set < 256; ++set) {
    if (std::popcount(set) < 2) continue;

    const NodeRings rings = node_rings(graph, set);

    double fullest = 0.0;
    double total = 0.0;
    for (const LinkShare& share : rings.shares) {
      fullest = std::max(fullest, share.share * rings.rate / graph.capacity(share.link));
      total += share.share;
    }
    EXPECT_LE(fullest, 1 + 1e-9) << set;
    EXPECT_GT(fullest, 1 - 1e-9) << set;
    EXPECT_GE(total, std::popcount(set) - 1e-9)
        << "a ring has one hop per member at least, " << set;
  }
}

TEST(node_rings, of_more_than_eight_devices_still_pass_every_device) {
  const NodeGraph graph(mesh_node(12, 28));

  const NodeRings rings = node_rings(graph, (DeviceSet{1} << 12) - 1);

  EXPECT_GE(rings.rate, 4 * 28 * giga);
  EXPECT_LE(rings.rate, 11 * 28 * giga * (1 + 1e-9));
}

TEST(node_rings, of_one_device_are_none) {
  const NodeRings rings = node_rings(NodeGraph(mi250x_node()), set_of({3}));

  EXPECT_TRUE(rings.rings.empty());
  EXPECT_TRUE(rings.shares.empty());
}

}  // namespace
}  // namespace fourfold
