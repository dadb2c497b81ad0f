// Links, routes and ring footprints: what goes in comes out, detours are fair, NICs are shared as
// the collective library shares them.
#include "platforms/network/topology.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "schedule/program/process_grid.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

std::map<LinkKind, double> share_by_kind(const Topology& topology, const Footprint& footprint) {
  std::map<LinkKind, double> shares;
  for (const LinkShare& entry : footprint) shares[topology.kind(entry.link)] += entry.share;
  return shares;
}

std::map<std::string, double> by_name(const Topology& topology, const Footprint& footprint) {
  std::map<std::string, double> shares;
  for (const LinkShare& entry : footprint) shares[topology.link_name(entry.link)] += entry.share;
  return shares;
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

TEST(topology, every_link_has_a_name_of_its_own_a_kind_and_a_capacity) {
  const Platform platform = frontier();
  const Topology topology(platform, 130);

  std::set<std::string> names;
  std::map<LinkKind, std::int64_t> count;
  for (std::int32_t link = 0; link < topology.link_count(); ++link) {
    names.insert(topology.link_name(link));
    ++count[topology.kind(link)];
    EXPECT_GT(topology.capacity(link).value, 0.0);
  }

  EXPECT_EQ(static_cast<std::int32_t>(names.size()), topology.link_count());
  EXPECT_EQ(count[LinkKind::inner], 130 * 2 * 12);
  EXPECT_EQ(count[LinkKind::nic_out], 130 * 4);
  EXPECT_EQ(count[LinkKind::nic_in], 130 * 4);
  EXPECT_EQ(count[LinkKind::local], 2 * 32 * 31);
  EXPECT_EQ(count[LinkKind::global], 74 * 73);
}

TEST(topology, the_links_of_a_group_pair_are_a_bundle_of_their_summed_capacity) {
  const Platform platform = frontier();
  const Topology topology(platform, 1);

  EXPECT_EQ(topology.link_name(topology.link_count() - 1), "group 73 -> group 72");
  EXPECT_EQ(topology.capacity(topology.link_count() - 1).value, 100 * giga);
}

TEST(topology, a_message_between_groups_takes_nics_gateways_and_one_bundle) {
  const Platform platform = frontier();
  const Topology topology(platform, 512);

  Footprint path;
  topology.route(0, 3 * 1024 + 8 * 17 + 2, path);

  const auto kinds = share_by_kind(topology, path);
  EXPECT_EQ(kinds.at(LinkKind::nic_out), 1.0);
  EXPECT_EQ(kinds.at(LinkKind::nic_in), 1.0);
  EXPECT_EQ(kinds.at(LinkKind::global), 1.0);
  EXPECT_EQ(by_name(topology, path).count("group 0 -> group 3"), 1u);
  EXPECT_EQ(by_name(topology, path).count("node 0 nic 0 out"), 1u);
  EXPECT_EQ(by_name(topology, path).count("node 401 nic 1 in"), 1u);
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

TEST(topology, a_transfer_inside_a_node_uses_inner_links_only) {
  const Platform platform = frontier();
  const Topology topology(platform, 2);

  Footprint path;
  topology.route(8 + 0, 8 + 4, path);

  ASSERT_EQ(path.size(), 2u);
  for (const LinkShare& hop : path) EXPECT_EQ(topology.kind(hop.link), LinkKind::inner);
}

TEST(topology, without_detours_route_and_minimal_route_agree) {
  const Platform platform = frontier();
  const Topology topology(platform, 300);
  for (std::int64_t to = 1; to < topology.devices(); to += 37) {
    Footprint path;
    std::vector<std::int32_t> minimal;

    topology.route(5, to, path);
    topology.minimal_route(5, to, minimal);

    ASSERT_EQ(path.size(), minimal.size());
    for (std::size_t i = 0; i < path.size(); ++i) {
      EXPECT_EQ(path[i].link, minimal[i]);
      EXPECT_EQ(path[i].share, 1.0);
    }
  }
}

TEST(topology, local_detours_go_over_different_other_switches) {
  const Platform platform = frontier({5, 0});
  const Topology topology(platform, 128);

  Footprint path;
  topology.route(0, 8 * 40, path);

  std::set<std::int32_t> links;
  for (const LinkShare& hop : path) links.insert(hop.link);
  EXPECT_EQ(links.size(), path.size());
  EXPECT_NEAR(share_by_kind(topology, path).at(LinkKind::local), 1.0 / 6 + 2 * 5.0 / 6, 1e-12);
}

TEST(topology, more_detours_than_there_are_groups_is_all_groups) {
  const Platform platform = perlmutter({99, 99});
  const Topology topology(platform, 256);

  Footprint path;
  topology.route(0, 128 * 4, path);

  EXPECT_NEAR(share_by_kind(topology, path).at(LinkKind::global), 1.0 / 23 + 2 * 22.0 / 23, 1e-12);
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

TEST(topology, refuses_what_does_not_exist) {
  const Platform platform = frontier();
  const Topology topology(platform, 2);
  Footprint path;

  EXPECT_THROW(Topology(platform, 0), std::invalid_argument);
  EXPECT_THROW(Topology(platform, platform.nodes + 1), std::invalid_argument);
  EXPECT_THROW(topology.route(0, 16, path), std::out_of_range);
  EXPECT_THROW(topology.ring_footprint({0, -1}, 0), std::out_of_range);
  EXPECT_THROW(topology.ring_footprint({0, 1}, -1), std::out_of_range);
  const Platform ports = crossbar(4, Ports::private_per_channel);
  EXPECT_THROW(Topology(ports, 1, 5).ring_footprint({0, 1}, 5), std::out_of_range);
  EXPECT_THROW(Topology(ports, 1).ring_footprint({0, 1}, 1), std::out_of_range);
}

}  // namespace
}  // namespace fourfold::tests
