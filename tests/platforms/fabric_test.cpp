// Fat trees, tori and switched nodes: every route leads from one device to the other, link by link,
// nothing of a message is lost, and every tier has the capacity its taper leaves.
#include <gtest/gtest.h>

#include <map>

#include "platforms/network/topology.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

Platform rails() {
  return fat_tree(switched_node(4, 300), 4, {{4, 2.0}, {3, 4.0}, {2, 1.0}});
}
Platform leaves() {
  return fat_tree(switched_node(4, 300), 1, {{4, 2.0}, {3, 4.0}, {2, 1.0}});
}

std::vector<std::string> names(const Topology& topology, std::int64_t from, std::int64_t to) {
  std::vector<std::int32_t> path;
  topology.minimal_route(from, to, path);
  std::vector<std::string> names;
  for (std::int32_t link : path) names.push_back(topology.link_name(link));
  return names;
}

TEST(fat_tree, climbs_as_far_as_it_must_and_down_again) {
  const Platform platform = leaves();
  const Topology topology(platform, platform.nodes);
  using Names = std::vector<std::string>;

  EXPECT_EQ(names(topology, 0, 4), (Names{"node 0 nic 0 out", "node 1 nic 0 in"}));
  EXPECT_EQ(names(topology, 0, 17),
            (Names{"node 0 nic 0 out", "leaf 0 up", "leaf 1 down", "node 4 nic 1 in"}));
  EXPECT_EQ(names(topology, 0, 95), (Names{"node 0 nic 0 out", "leaf 0 up", "pod 0 up",
                                           "pod 1 down", "leaf 5 down", "node 23 nic 3 in"}));
}

TEST(fat_tree, with_rails_stays_on_a_leaf_only_from_nic_to_equal_nic) {
  const Platform platform = rails();
  const Topology topology(platform, platform.nodes);
  using Names = std::vector<std::string>;

  EXPECT_EQ(names(topology, 2, 14), (Names{"node 0 nic 2 out", "node 3 nic 2 in"}));
  EXPECT_EQ(names(topology, 2, 13), (Names{"node 0 nic 2 out", "unit 0 rail 2 up",
                                           "unit 0 rail 1 down", "node 3 nic 1 in"}));
}

TEST(fat_tree, has_the_capacity_that_its_taper_leaves) {
  const Platform with_rails = rails();
  const Platform without = leaves();
  const Topology a(with_rails, with_rails.nodes);
  const Topology b(without, without.nodes);

  // 4 nodes of 4 NICs of 25 GB/s below a leaf that sends up half; 3 of those below a pod: a fourth.
  std::map<LinkKind, double> sum_a, sum_b;
  for (std::int32_t link = 0; link < a.link_count(); ++link) {
    sum_a[a.kind(link)] += a.capacity(link).value / giga;
  }
  for (std::int32_t link = 0; link < b.link_count(); ++link) {
    sum_b[b.kind(link)] += b.capacity(link).value / giga;
  }
  EXPECT_DOUBLE_EQ(sum_b[LinkKind::nic_out], 24 * 100);
  EXPECT_DOUBLE_EQ(sum_b[LinkKind::leaf], 2 * 24 * 100 / 2);
  EXPECT_DOUBLE_EQ(sum_b[LinkKind::spine], 2 * 24 * 100 / 8);
  EXPECT_EQ(sum_a, sum_b);
}

TEST(fabric, the_way_back_is_as_long) {
  for (const Platform& platform : {rails(), leaves(), torus(switched_node(4, 300), {2, 3, 4})}) {
    const Topology topology(platform, platform.nodes);
    for (std::int64_t from = 0; from < topology.devices(); from += 5) {
      for (std::int64_t to = 0; to < topology.devices(); to += 3) {
        ASSERT_EQ(names(topology, from, to).size(), names(topology, to, from).size());
      }
    }
  }
}

TEST(torus, corrects_one_dimension_after_the_other_by_the_shorter_way) {
  const Platform platform = torus(switched_node(1, 300), {4, 3});
  const Topology topology(platform, platform.nodes);

  EXPECT_EQ(names(topology, 0, 7),
            (std::vector<std::string>{"node 0 nic 0 out", "router 0 -> router 3 (dimension 0 back)",
                                      "router 3 -> router 7 (dimension 1 on)", "node 7 nic 0 in"}));
}

TEST(node_switch, joins_all_devices_at_the_rate_of_a_port) {
  Node node = switched_node(8, 450);
  const NodeGraph graph(node);

  EXPECT_EQ(graph.link_name(graph.path(2, 5)[0]), "device 2 -> switch");
  EXPECT_EQ(graph.link_name(graph.path(2, 5)[1]), "switch -> device 5");
  EXPECT_DOUBLE_EQ(node_rings(graph, 0xff).rate, 450 * giga);
  EXPECT_DOUBLE_EQ(node_rings(graph, 0x21).rate, 450 * giga);
}

TEST(node_switch, is_left_aside_where_a_link_joins_two_devices) {
  Node node = switched_node(4, 450);
  node.links = {{0, 1, {100 * giga}, "direct"}};
  const NodeGraph graph(node);

  ASSERT_EQ(graph.path(1, 0).size(), 1u);
  EXPECT_EQ(graph.link_name(graph.path(1, 0)[0]), "device 1 -> device 0");
  EXPECT_EQ(graph.path(1, 2).size(), 2u);
}

}  // namespace
}  // namespace fourfold::tests
