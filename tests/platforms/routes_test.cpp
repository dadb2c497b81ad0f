// Routes link by link on trees, tori, crossbars, dragonflies and within switched nodes, the
// capacity of their links, and detours that are fair; and rings, which share NICs and inner links
// as the collective library does.
#include "tests/platforms/routes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platforms/network/topology.hpp"
#include "platforms/node/rings.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

// As many nodes below a unit, units below a pod, and pods.
Platform tree(std::int64_t rails, std::int64_t nodes, std::int64_t units, std::int64_t pods,
              int devices) {
  return fat_tree(switched_node(devices, 300), rails, {{nodes, 2.0}, {units, 4.0}, {pods, 1.0}});
}

struct Route {
  Platform platform;
  std::int64_t from, to;
  std::string links;
};

TEST(fabric, messages_climb_as_far_as_they_must_and_down_again) {
  const Platform leaves = tree(1, 4, 3, 2, 4), rails = tree(4, 4, 3, 2, 4),
                 fewer_rails = tree(4, 8, 4, 4, 8), cells = dragonfly_plus(4, 8, 0);
  const std::vector<Route> routes{
      {leaves, 0, 4, "node 0 nic 0 out, node 1 nic 0 in"},
      {leaves, 0, 17, "node 0 nic 0 out, leaf 0 up, leaf 1 down, node 4 nic 1 in"},
      {leaves, 0, 95,
       "node 0 nic 0 out, leaf 0 up, pod 0 up, pod 1 down, leaf 5 down, node 23 nic 3 in"},
      // With rails a message stays on a leaf only between NICs of equal number modulo rails.
      {rails, 2, 14, "node 0 nic 2 out, node 3 nic 2 in"},
      {rails, 2, 13, "node 0 nic 2 out, unit 0 rail 2 up, unit 0 rail 1 down, node 3 nic 1 in"},
      {fewer_rails, 1, 13, "node 0 nic 1 out, node 1 nic 5 in"},
      {fewer_rails, 7, 70,
       "node 0 nic 7 out, unit 0 rail 3 up, unit 1 rail 2 down, node 8 nic 6 in"},
      {cells, 0, 12, "node 0 nic 0 out, node 3 nic 0 in"},
      {cells, 1, 63, "node 0 nic 1 out, cell 0 leaf 0 up, cell 0 leaf 3 down, node 15 nic 3 in"},
      {cells, 20, 192,
       "node 5 nic 0 out, cell 0 leaf 1 up, cell 0 -> cell 3, cell 3 leaf 0 down, "
       "node 48 nic 0 in"},
      // One dimension after the other, by the shorter way.
      {torus(switched_node(1, 300), {4, 3}), 0, 7,
       "node 0 nic 0 out, router 0 -> router 3 (dimension 0 back), "
       "router 3 -> router 7 (dimension 1 on), node 7 nic 0 in"}};
  for (const auto& [platform, from, to, links] : routes) {
    const Topology topology(platform, platform.nodes);
    EXPECT_EQ(fmt::format("{}", fmt::join(names(topology, from, to), ", ")), links);
  }
}

// Of all links of a kind together, in GB/s.
std::map<LinkKind, double> capacities(const Platform& platform) {
  const Topology topology(platform, platform.nodes);
  std::map<LinkKind, double> sums;
  for (std::int32_t link = 0; link < topology.link_count(); ++link) {
    sums[topology.kind(link)] += topology.capacity(link).value / giga;
  }
  return sums;
}

// 8 nodes of 8 NICs of 25 GB/s below a unit that sends up half, however many rails share that; 4 of
// those below a pod: an eighth.
TEST(fabric, has_the_capacity_that_its_taper_leaves) {
  for (const std::int64_t rails : {1, 2, 4, 8}) {
    std::map<LinkKind, double> of_tree = capacities(tree(rails, 8, 4, 4, 8));
    EXPECT_DOUBLE_EQ(of_tree[LinkKind::nic_out], 128 * 200);
    EXPECT_DOUBLE_EQ(of_tree[LinkKind::leaf], 2 * 128 * 200 / 2);
    EXPECT_DOUBLE_EQ(of_tree[LinkKind::spine], 2 * 128 * 200 / 8);
  }
  std::map<LinkKind, double> of_cells = capacities(dragonfly_plus(4, 6, 0));
  EXPECT_DOUBLE_EQ(of_cells[LinkKind::leaf], 4 * 4 * 2 * 6 * 25);
  EXPECT_DOUBLE_EQ(of_cells[LinkKind::global], 4 * 3 * 8 * 25);
}

// All of a message leaves its leaf, all of it arrives, and what enters a cell leaves it.
TEST(fabric, detours_of_a_dragonfly_plus_go_through_whole_cells) {
  const Platform platform = dragonfly_plus(6, 8, 3);
  const Topology topology(platform, platform.nodes);
  Footprint path;

  topology.route(0, 5 * 64, path);

  std::map<std::string, double> share = by_name(topology, path);
  EXPECT_DOUBLE_EQ(share["cell 0 leaf 0 up"], 1.0);
  EXPECT_DOUBLE_EQ(share["cell 5 leaf 0 down"], 1.0);
  EXPECT_DOUBLE_EQ(share["cell 0 -> cell 5"], 0.25);
  EXPECT_EQ(share.size(), 2U + 2U + 1U + 6U);
  for (int via = 1; via < 5; ++via) {
    EXPECT_EQ(share.contains("cell 0 -> cell " + std::to_string(via)),
              share.contains("cell " + std::to_string(via) + " -> cell 5"));
  }
}

TEST(node_switch, joins_all_devices_that_no_link_joins) {
  Node node = switched_node(8, 450);
  EXPECT_DOUBLE_EQ(node_rings(NodeGraph(node), 0xff).rate, 450 * giga);
  EXPECT_DOUBLE_EQ(node_rings(NodeGraph(node), 0x21).rate, 450 * giga);
  node.links = {{0, 1, {100 * giga}, "direct"}};
  const NodeGraph graph(node);
  const auto path = [&](int from, int to) {
    Names links;
    for (std::int32_t link : graph.path(from, to)) links.push_back(graph.link_name(link));
    return links;
  };
  EXPECT_EQ(path(1, 0), Names{"device 1 -> device 0"});
  EXPECT_EQ(path(2, 5), (Names{"device 2 -> switch", "switch -> device 5"}));
}

TEST(topology, channels_of_a_crossbar_device_share_its_port_unless_it_has_one_each) {
  const Platform shared = crossbar(4, Ports::shared);
  const Platform separate = crossbar(4, Ports::private_per_channel);
  const Topology a(shared, 2);
  const Topology b(separate, 2, 5);

  EXPECT_EQ(by_name(a, a.ring_footprint({0, 5}, 0)), by_name(a, a.ring_footprint({0, 5}, 3)));
  EXPECT_EQ(by_name(b, b.ring_footprint({0, 5}, 3)),
            (std::map<std::string, double>{{"device 0 lane 3 in", 1.0},
                                           {"device 0 lane 3 out", 1.0},
                                           {"device 5 lane 3 in", 1.0},
                                           {"device 5 lane 3 out", 1.0}}));
}

TEST(topology, nodes_of_a_chassis_meet_at_the_switch_of_equal_nics) {
  const Platform platform = frontier();
  const Topology topology(platform, 128);

  Footprint same_chassis;
  topology.route(0, 15 * 8, same_chassis);
  Footprint next_chassis;
  topology.route(0, 16 * 8, next_chassis);

  EXPECT_EQ(by_name(topology, same_chassis),
            (std::map<std::string, double>{{"node 0 nic 0 out", 1.0}, {"node 15 nic 0 in", 1.0}}));
  EXPECT_EQ(by_name(topology, next_chassis).count("group 0 switch 0 -> switch 4"), 1u);
}

TEST(topology, local_detours_go_over_different_other_switches) {
  const Platform platform = frontier({5, 0});
  const Topology topology(platform, 128);

  Footprint path;
  topology.route(0, 8 * 40, path);

  std::set<std::int32_t> links;
  for (const LinkShare& hop : path) links.insert(hop.link);
  EXPECT_EQ(links.size(), path.size());
  EXPECT_NEAR(by_kind(topology, path).at(LinkKind::local), 1.0 / 6 + 2 * 5.0 / 6, 1e-12);
}

TEST(topology, more_detours_than_there_are_groups_is_all_groups) {
  const Platform platform = perlmutter({99, 99});
  const Topology topology(platform, 256);

  Footprint path;
  topology.route(0, 128 * 4, path);

  EXPECT_NEAR(by_kind(topology, path).at(LinkKind::global), 1.0 / 23 + 2 * 22.0 / 23, 1e-12);
}

TEST(topology, detours_of_a_group_load_all_other_groups_evenly) {
  const Platform platform = frontier({0, 8});
  const Topology topology(platform, 256);

  Footprint sum;
  for (std::int64_t device = 0; device < 1024; ++device) topology.route(device, device + 1024, sum);
  merge(sum);

  double most = 0.0, minimal = 0.0;
  for (const LinkShare& load : sum) {
    if (topology.kind(load.link) != LinkKind::global) continue;
    if (topology.link_name(load.link) == "group 0 -> group 1") {
      minimal = load.share;
    } else {
      most = std::max(most, load.share);
    }
  }
  EXPECT_NEAR(minimal, 1024.0 / 9, 1e-6);
  EXPECT_LT(most, 1.5 * 1024 * (8.0 / 9) / 72);
}

// The cables to other groups, four a pair, end on the switches of a group in turn, the next group's
// in the middle: 73 x 4 ends on 32 switches are nine or ten a switch.
TEST(topology, cables_between_groups_are_dealt_out_to_the_switches) {
  const Platform platform = frontier();
  const Topology topology(platform, platform.nodes);
  std::map<std::string, std::set<std::int64_t>> pairs_of_switch;
  std::set<std::string> of_the_next;
  for (std::int64_t peer = 1; peer < 74; ++peer) {
    // By four sending nodes and NICs a message meets all four cables of a pair.
    for (std::int64_t node = 0; node < 4; ++node) {
      for (std::int64_t nic = 0; nic < 4; ++nic) {
        std::vector<std::int32_t> path;
        topology.minimal_route(node * 8 + 2 * nic, peer * 1024, path);
        const std::string hop = topology.link_name(path[1]);
        const std::string prefix = "group 0 switch " + std::to_string(nic) + " -> switch ";
        const bool ends_here = hop.starts_with("group 0 -> ");
        const std::string gateway = ends_here ? std::to_string(nic) : hop.substr(prefix.size());
        ASSERT_TRUE(ends_here || hop.starts_with(prefix)) << hop;
        pairs_of_switch[gateway].insert(peer);
        if (peer == 1) of_the_next.insert(gateway);
      }
    }
  }

  EXPECT_EQ(of_the_next, (std::set<std::string>{"16", "17", "18", "19"}));
  EXPECT_EQ(pairs_of_switch.size(), 32U);
  for (const auto& [gateway, peers] : pairs_of_switch) {
    EXPECT_TRUE(peers.size() == 9 || peers.size() == 10) << gateway << " has " << peers.size();
  }
}

TEST(topology, footprints_are_merged_by_link) {
  Footprint footprint{{7, 0.25}, {3, 1.0}, {7, 0.5}, {1, 0.125}, {3, 1.0}};

  merge(footprint);

  ASSERT_EQ(footprint.size(), 3U);
  EXPECT_EQ(footprint[0].link, 1);
  EXPECT_EQ(footprint[1].share, 2.0);
  EXPECT_EQ(footprint[2].share, 0.75);
}

std::vector<std::int64_t> line(std::int64_t first, std::int64_t stride, std::int64_t extent) {
  std::vector<std::int64_t> devices;
  for (std::int64_t i = 0; i < extent; ++i) devices.push_back(first + i * stride);
  return devices;
}

// A ring that goes on to the next node has one hop fewer inside than one that closes there.
TEST(ring_footprint, over_nodes_passes_the_devices_of_a_node_once) {
  const Platform platform = perlmutter();
  const Topology topology(platform, 2);

  const auto inside = by_kind(topology, topology.ring_footprint(line(0, 1, 4), 0));
  const auto across = by_kind(topology, topology.ring_footprint(line(0, 1, 8), 0));

  EXPECT_NEAR(inside.at(LinkKind::inner), 4.0, 1e-12);
  EXPECT_NEAR(across.at(LinkKind::inner), 2 * 3.0, 1e-12);
}

// As many rings as the node with the fewest NICs that serve members can have, spread over those
// NICs; a node with more uses as many of them.
TEST(ring_footprint, shares_the_nics_of_its_members) {
  struct Shared {
    Platform platform;
    std::vector<std::int64_t> members;
    std::map<double, Names> links;  // by their share; 0 where nothing goes
  };
  constexpr std::int64_t second = 128 * 4, third = 2 * second;
  const std::vector<Shared> all{
      // Whole nodes use all four alike.
      {frontier(),
       line(0, 1, 32),
       {{0.25, {"node 0 nic 0 out", "node 1 nic 1 in", "node 2 nic 2 out", "node 3 nic 3 in"}}}},
      // Nodes follow one another as the list first names them, each with all its members: devices
      // of groups 2, 0 and 1 in turn, and back. Two rings, as the second node has two members.
      {perlmutter(),
       {third, 0, third + 1, second + 2, 1, second, third + 3, 2},
       {{1.0, {"group 2 -> group 0", "group 0 -> group 1", "group 1 -> group 2"}},
        {0.0, {"group 0 -> group 2", "group 2 -> group 1"}},
        {0.5,
         {"node 128 nic 0 out", "node 128 nic 2 in", "node 256 nic 0 out", "node 256 nic 1 out",
          "node 0 nic 1 in"}}}},
      {frontier(),
       {1, 5, 9, 13},
       {{0.5, {"node 0 nic 0 out", "node 0 nic 2 out", "node 1 nic 0 in", "node 1 nic 2 in"}}}},
      {perlmutter(),
       line(0, 1, 5),
       {{1.0, {"node 1 nic 0 out", "node 1 nic 0 in", "node 0 nic 0 out"}}}},
      // Four members and two: two rings, over NICs 0 and 2 of the first node's four.
      {perlmutter(),
       {0, 1, 2, 3, 5, 6},
       {{0.5, {"node 0 nic 0 out", "node 0 nic 2 out", "node 1 nic 1 in", "node 1 nic 2 in"}},
        {0.0, {"node 0 nic 1 out", "node 0 nic 3 in"}}}},
      // Three members and two: the first two of three NICs.
      {perlmutter(),
       {1, 2, 3, 4, 7},
       {{0.5, {"node 0 nic 1 out", "node 0 nic 2 in", "node 1 nic 0 in", "node 1 nic 3 out"}},
        {0.0, {"node 0 nic 3 out"}}}},
      // Members of a node that share one NIC have one ring, whatever their number.
      {frontier(),
       {2, 3, 8, 10, 12, 14},
       {{1.0, {"node 0 nic 1 out", "node 1 nic 0 in"}}, {0.0, {"node 1 nic 1 in"}}}}};
  for (const auto& [platform, members, links] : all) {
    const Topology topology(platform, 3 * 128);
    auto shares = by_name(topology, topology.ring_footprint(members, 0));
    for (const auto& [share, of_share] : links) {
      for (const std::string& name : of_share) EXPECT_EQ(shares[name], share) << name;
    }
  }
}

TEST(ring_footprint, is_sorted_without_repeats_and_enters_what_it_leaves) {
  const Platform platform = frontier({3, 8});
  const Topology topology(platform, 512);
  for (const auto& [stride, extent] : {std::pair{1, 8}, {3, 7}, {8, 64}, {12, 20}, {1024, 4}}) {
    const Footprint footprint = topology.ring_footprint(line(0, stride, extent), 2);

    for (std::size_t i = 1; i < footprint.size(); ++i) {
      ASSERT_LT(footprint[i - 1].link, footprint[i].link);
    }
    auto kinds = by_kind(topology, footprint);
    EXPECT_NEAR(kinds[LinkKind::nic_out], kinds[LinkKind::nic_in], 1e-9);
  }
}

// Whichever way a list walks through the members of its nodes, rings are the same as long as the
// nodes come in the same order.
TEST(ring_footprint, depends_on_the_order_of_nodes_alone) {
  const Platform platform = frontier({3, 8});
  const Topology topology(platform, 300);
  const auto line_by_line = [](const std::vector<std::int64_t>& nodes) {
    std::vector<std::int64_t> list;
    for (std::int64_t node : nodes) {
      for (std::int64_t member = 0; member < 8; ++member) list.push_back(node * 8 + member);
    }
    return list;
  };
  const auto in_turns = [](const std::vector<std::int64_t>& nodes) {
    std::vector<std::int64_t> list;
    for (std::int64_t member = 0; member < 8; ++member) {
      for (std::int64_t node : nodes) list.push_back(node * 8 + member);
    }
    return list;
  };

  const auto in_turn = by_name(topology, topology.ring_footprint(in_turns({9, 200, 3}), 0));
  const auto in_line = by_name(topology, topology.ring_footprint(line_by_line({9, 200, 3}), 0));
  const auto other = by_name(topology, topology.ring_footprint(line_by_line({9, 3, 200}), 0));

  EXPECT_EQ(in_turn, in_line);
  EXPECT_NE(in_turn, other);
}

}  // namespace
}  // namespace fourfold::tests
