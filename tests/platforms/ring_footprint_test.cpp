// Ring footprints: NICs and inner links are shared as the collective library shares them.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "platforms/network/topology.hpp"
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

std::vector<std::int64_t> line(std::int64_t first, std::int64_t stride, std::int64_t extent) {
  std::vector<std::int64_t> devices;
  for (std::int64_t i = 0; i < extent; ++i) devices.push_back(first + i * stride);
  return devices;
}

TEST(ring_footprint, of_a_whole_node_per_node_loads_all_four_nics_equally) {
  const Platform platform = frontier();
  const Topology topology(platform, 4);

  const Footprint footprint = topology.ring_footprint(line(0, 1, 32), 0);

  for (const LinkShare& entry : footprint) {
    const LinkKind kind = topology.kind(entry.link);
    if (kind == LinkKind::nic_out || kind == LinkKind::nic_in) {
      EXPECT_EQ(entry.share, 0.25);
    }
  }
  const auto kinds = share_by_kind(topology, footprint);
  EXPECT_NEAR(kinds.at(LinkKind::nic_out), 4.0, 1e-12);
  EXPECT_GT(kinds.at(LinkKind::inner), 4 * 7.0 - 1e-9);
}

// A ring that goes on to the next node has one hop fewer inside than one that closes there.
TEST(ring_footprint, over_nodes_passes_the_devices_of_a_node_once) {
  const Platform platform = perlmutter();
  const Topology topology(platform, 2);

  const auto inside = share_by_kind(topology, topology.ring_footprint(line(0, 1, 4), 0));
  const auto across = share_by_kind(topology, topology.ring_footprint(line(0, 1, 8), 0));

  EXPECT_NEAR(inside.at(LinkKind::inner), 4.0, 1e-12);
  EXPECT_NEAR(across.at(LinkKind::inner), 2 * 3.0, 1e-12);
}

TEST(ring_footprint, of_two_devices_a_node_uses_two_nics) {
  const Platform platform = frontier();
  const Topology topology(platform, 2);

  const auto names = by_name(topology, topology.ring_footprint({1, 5, 9, 13}, 0));

  EXPECT_EQ(names.at("node 0 nic 0 out"), 0.5);
  EXPECT_EQ(names.at("node 0 nic 2 out"), 0.5);
  EXPECT_EQ(names.at("node 1 nic 0 in"), 0.5);
  EXPECT_EQ(names.at("node 1 nic 2 in"), 0.5);
}

TEST(ring_footprint, of_nodes_with_different_numbers_of_members_has_rings_for_the_smallest) {
  const Platform platform = perlmutter();
  const Topology topology(platform, 2);

  const auto names = by_name(topology, topology.ring_footprint(line(0, 1, 5), 0));

  EXPECT_EQ(names.at("node 1 nic 0 out"), 1.0);
  EXPECT_EQ(names.at("node 1 nic 0 in"), 1.0);
  EXPECT_EQ(names.at("node 0 nic 0 out"), 1.0);
}

TEST(ring_footprint, is_sorted_without_repeats_and_enters_what_it_leaves) {
  const Platform platform = frontier({3, 8});
  const Topology topology(platform, 512);
  for (const auto& [stride, extent] : {std::pair{1, 8}, {3, 7}, {8, 64}, {12, 20}, {1024, 4}}) {
    const Footprint footprint = topology.ring_footprint(line(0, stride, extent), 2);

    for (std::size_t i = 1; i < footprint.size(); ++i) {
      ASSERT_LT(footprint[i - 1].link, footprint[i].link);
    }
    auto kinds = share_by_kind(topology, footprint);
    EXPECT_NEAR(kinds[LinkKind::nic_out], kinds[LinkKind::nic_in], 1e-9);
  }
}

TEST(ring_footprint, gathers_members_of_a_node_however_they_are_ordered) {
  const Platform platform = perlmutter();
  const Topology topology(platform, 2);

  const auto in_order = by_name(topology, topology.ring_footprint({0, 1, 4, 5}, 0));
  const auto shuffled = by_name(topology, topology.ring_footprint({0, 4, 1, 5}, 0));

  EXPECT_EQ(in_order, shuffled);
}

// Nodes follow one another as the list first names them, each with all its members: devices of
// groups 0, 1 and 2 in turn, and back from the last node to the first.
TEST(ring_footprint, of_a_list_that_alternates_between_nodes_visits_each_node_once) {
  const Platform platform = perlmutter();
  const Topology topology(platform, 3 * 128);
  constexpr std::int64_t second = 128 * 4;
  constexpr std::int64_t third = 2 * 128 * 4;

  const auto names = by_name(
      topology,
      topology.ring_footprint({third, 0, third + 1, second + 2, 1, second, third + 3, 2}, 0));

  EXPECT_EQ(names.at("group 2 -> group 0"), 1.0);
  EXPECT_EQ(names.at("group 0 -> group 1"), 1.0);
  EXPECT_EQ(names.at("group 1 -> group 2"), 1.0);
  EXPECT_EQ(names.count("group 0 -> group 2") + names.count("group 2 -> group 1"), 0U);
  // Two rings, as the second node has two members; of the other nodes' three NICs they use two.
  EXPECT_EQ(names.at("node 128 nic 0 out"), 0.5);
  EXPECT_EQ(names.at("node 128 nic 2 in"), 0.5);
  EXPECT_EQ(names.at("node 256 nic 0 out"), 0.5);
  EXPECT_EQ(names.at("node 256 nic 1 out"), 0.5);
  EXPECT_EQ(names.at("node 0 nic 1 in"), 0.5);
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

TEST(ring_footprint, of_one_member_is_empty) {
  const Platform platform = frontier();
  const Topology topology(platform, 1);

  EXPECT_TRUE(topology.ring_footprint({3}, 0).empty());
}

}  // namespace
}  // namespace fourfold::tests
