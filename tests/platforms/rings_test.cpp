// Rings inside a node: the rates of the two node graphs of the study, and what every ring set
// obeys.
#include "platforms/node/rings.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

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

struct Pair {
  int a, b;
  double width;  // GB/s
};

Node linked_node(int devices, const std::vector<Pair>& pairs) {
  Node node;
  node.devices = devices;
  for (const Pair& pair : pairs) node.links.push_back({pair.a, pair.b, {pair.width * giga}, ""});
  return node;
}

// No ring without detours: a line, a star, a comb, and two meshes that one link joins.
Node line_node(int devices) {
  std::vector<Pair> pairs;
  for (int i = 0; i + 1 < devices; ++i) pairs.push_back({i, i + 1, 10.0 + i});
  return linked_node(devices, pairs);
}
Node star_node(int devices) {
  std::vector<Pair> pairs;
  for (int i = 1; i < devices; ++i) pairs.push_back({0, i, 20.0 + i % 3});
  return linked_node(devices, pairs);
}
Node comb_node(int devices) {
  std::vector<Pair> pairs;
  for (int i = 0; i + 2 < devices; i += 2) pairs.push_back({i, i + 2, 30.0});
  for (int i = 0; i + 1 < devices; i += 2) pairs.push_back({i, i + 1, 7.0 + i});
  return linked_node(devices, pairs);
}
Node two_meshes_node(int devices) {
  const int half = devices / 2;
  std::vector<Pair> pairs{{half - 1, half, 12.0}};
  for (int a = 0; a < devices; ++a) {
    for (int b = a + 1; b < devices; ++b) {
      if ((a < half) == (b < half)) pairs.push_back({a, b, 40.0});
    }
  }
  return linked_node(devices, pairs);
}

Node circle_node(int devices, double width) {
  std::vector<Pair> pairs;
  for (int i = 0; i < devices; ++i) pairs.push_back({i, (i + 1) % devices, width});
  return linked_node(devices, pairs);
}

// Each ring passes every member once, each link's share is what the rings add up to, no link is
// loaded beyond its capacity, and one is full.
void expect_sound(const NodeGraph& graph, DeviceSet set) {
  SCOPED_TRACE(static_cast<std::uint64_t>(set));
  const NodeRings rings = node_rings(graph, set);
  EXPECT_GT(rings.rate, 0.0);
  double shares = 0.0, fullest = 0.0;
  Footprint walked;
  for (const NodeRing& ring : rings.rings) {
    shares += ring.share;
    DeviceSet passed = 0;
    for (std::size_t i = 0; i < ring.order.size(); ++i) {
      passed |= DeviceSet{1} << ring.order[i];
      const int next = ring.order[(i + 1) % ring.order.size()];
      for (std::int32_t link : graph.path(ring.order[i], next))
        walked.push_back({link, ring.share});
    }
    EXPECT_TRUE(passed == set);
    EXPECT_EQ(std::ssize(ring.order), std::popcount(static_cast<std::uint64_t>(set)) +
                                          std::popcount(static_cast<std::uint64_t>(set >> 64)));
  }
  EXPECT_NEAR(shares, 1.0, 1e-12);
  merge(walked);
  ASSERT_EQ(rings.shares.size(), walked.size());
  for (std::size_t i = 0; i < walked.size(); ++i) {
    const auto& [link, share] = rings.shares[i];
    EXPECT_EQ(link, walked[i].link);
    EXPECT_NEAR(share, walked[i].share, 1e-12);
    fullest = std::max(fullest, share * rings.rate / graph.capacity(link));
  }
  EXPECT_NEAR(fullest, 1.0, 1e-9);
}

TEST(node_rings, of_any_members_load_no_link_beyond_its_capacity) {
  const NodeGraph small(mi250x_node());
  for (DeviceSet set = 1; set < 256; ++set) {
    if ((set & (set - 1)) != 0) expect_sound(small, set);
  }
  expect_sound(NodeGraph(mesh_node(12, 28)), (DeviceSet{1} << 12) - 1);
  for (int devices = 9; devices <= 13; ++devices) {
    for (const Node& node :
         {line_node(devices), star_node(devices), comb_node(devices), two_meshes_node(devices)}) {
      const NodeGraph graph(node);
      const DeviceSet all = (DeviceSet{1} << devices) - 1;
      // Where some are left out, detours pass through them.
      for (DeviceSet set : {all, DeviceSet{0x5b7} & all, all - 1, DeviceSet{0x555} & all}) {
        expect_sound(graph, set);
      }
    }
  }
}

TEST(node_rings, of_devices_on_both_sides_of_the_64th_pass_them_alone) {
  const NodeGraph line(line_node(72)), circle(circle_node(72, 25));
  for (const DeviceSet first : {0x15, 0x3, 0xff}) {
    for (const int device : {0, 58, 63, 64}) {
      expect_sound(line, first << device);
      expect_sound(circle, first << device);
    }
  }
}

// Trees of random widths with some links across, and rings over most of their devices: nearest
// neighbours lie such that a ring may cross a link twice, and its last hop may be its narrowest.
TEST(node_rings, of_random_nodes_load_no_link_beyond_its_capacity) {
  std::mt19937 random(11);
  const auto below = [&random](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 300; ++round) {
    const int devices = 9 + round % 5;
    std::vector<Pair> pairs;
    for (int device = 1; device < devices; ++device) {
      pairs.push_back({below(device), device, 1.0 + below(40)});
    }
    for (int across = 0; across < round % 4; ++across) {
      const int a = below(devices - 1);
      pairs.push_back({a, a + 1 + below(devices - a - 1), 1.0 + below(40)});
    }
    DeviceSet set = (DeviceSet{1} << devices) - 1;
    for (int device = 9; device < devices; ++device) set &= ~(DeviceSet{random() % 2} << device);
    expect_sound(NodeGraph(linked_node(devices, pairs)), set);
  }
}

// Every link of a line is crossed once forth and once back by the best ring: as wide as the
// narrowest. Hand-set orders that zigzag cross it more often.
TEST(node_rings, on_a_line_of_devices_go_up_and_come_back) {
  const NodeGraph graph(line_node(11));

  EXPECT_NEAR(node_rings(graph, (DeviceSet{1} << 11) - 1).rate, 10 * giga, 1.0);
}

// Direct rings where there are any: 12 devices in a circle need no detour, and both ways round are
// used.
TEST(node_rings, of_a_circle_of_twelve_are_its_two_ways_round) {
  const NodeGraph graph(circle_node(12, 25));

  const NodeRings rings = node_rings(graph, (DeviceSet{1} << 12) - 1);

  EXPECT_NEAR(rings.rate, 50 * giga, 1.0);
  EXPECT_EQ(rings.shares.size(), 24U);
}

TEST(node_rings, of_one_device_are_none) {
  const NodeRings rings = node_rings(NodeGraph(mi250x_node()), set_of({3}));

  EXPECT_TRUE(rings.rings.empty());
  EXPECT_TRUE(rings.shares.empty());
}

}  // namespace
}  // namespace fourfold::tests
