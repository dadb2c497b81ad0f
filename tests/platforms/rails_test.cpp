// Fewer rails than NICs: NIC i is on leaf i modulo rails, links up are shared by the NICs of a
// rail, and rings of fewer members than a node has NICs are spread over those they have.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/platforms/brute_force.hpp"
#include "tests/platforms/machines_for_tests.hpp"

namespace fourfold::tests {
namespace {

// Nodes of eight devices and NICs; eight nodes below a unit, four units below a pod.
Platform eight_nics(std::int64_t rails) {
  return fat_tree(switched_node(8, 300), rails, {{8, 2.0}, {4, 3.0}, {4, 1.0}});
}

using Names = std::vector<std::string>;

Names names(const Topology& topology, std::int64_t from, std::int64_t to) {
  std::vector<std::int32_t> path;
  topology.minimal_route(from, to, path);
  Names names;
  for (std::int32_t link : path) names.push_back(topology.link_name(link));
  return names;
}

std::map<std::string, double> by_name(const Topology& topology, const Footprint& footprint) {
  std::map<std::string, double> shares;
  for (const LinkShare& entry : footprint) shares[topology.link_name(entry.link)] += entry.share;
  return shares;
}

TEST(Rails, AreTheNicsModuloTheirNumber) {
  const Platform platform = eight_nics(4);
  const Topology topology(platform, 32);

  // NICs 1 and 5 are on rail 1: between nodes of a unit they meet at its leaf.
  EXPECT_EQ(names(topology, 1, 8 + 5), (Names{"node 0 nic 1 out", "node 1 nic 5 in"}));
  EXPECT_EQ(names(topology, 1, 8 + 4), (Names{"node 0 nic 1 out", "unit 0 rail 1 up",
                                              "unit 0 rail 0 down", "node 1 nic 4 in"}));
  EXPECT_EQ(names(topology, 7, 8 * 8 + 6), (Names{"node 0 nic 7 out", "unit 0 rail 3 up",
                                                  "unit 1 rail 2 down", "node 8 nic 6 in"}));
}

// 8 nodes with 8 / rails NICs of 25 GB/s each on a leaf that sends up half; a pod's links are those
// of all its rails, tapered once more to a third.
TEST(Rails, ShareTheLinksUpOfTheirNics) {
  for (const std::int64_t rails : {1, 2, 4, 8}) {
    const Platform platform = eight_nics(rails);
    const Topology topology(platform, 128);
    std::map<LinkKind, int> count;
    for (std::int32_t link = 0; link < topology.link_count(); ++link) {
      const LinkKind kind = topology.kind(link);
      const double expected =
          kind == LinkKind::leaf ? 8 * 8.0 / rails * 25 * giga / 2 : 4 * 8 * 8 * 25 * giga / 2 / 3;
      ++count[kind];
      if (kind != LinkKind::leaf && kind != LinkKind::spine) continue;
      EXPECT_NEAR(topology.capacity(link).value, expected, 1.0) << topology.link_name(link);
    }
    EXPECT_EQ(count[LinkKind::leaf], 2 * 16 * rails);
    EXPECT_EQ(count[LinkKind::spine], 2 * 4);
    EXPECT_EQ(count[LinkKind::nic_out], 128 * 8);
  }
}

TEST(Rails, RatesEqualBruteForceOnPowersOfTwo) {
  for (const std::int64_t rails : {2, 4}) {
    for (const std::int64_t devices : {64, 128, 512}) {
      EXPECT_LT(errors(eight_nics(rails), devices).worst_factor, 1.0 + 1e-9)
          << rails << " rails, " << devices;
      EXPECT_LT(errors(fat_tree(mi250x_node(), rails, {{4, 2.0}, {4, 3.0}, {4, 1.0}}), devices)
                    .worst_factor,
                1.0 + 1e-9)
          << rails << " rails of MI250X nodes, " << devices;
    }
  }
}

TEST(Rails, RatesAreNearBruteForceOnIrregularGrids) {
  const Errors two = errors(eight_nics(2), 480);
  const Errors four = errors(eight_nics(4), 480);

  EXPECT_LT(two.mean, 0.0786);
  EXPECT_LT(two.worst_factor, 2.0 + 1e-9);
  EXPECT_LT(four.mean, 0.0537);
  EXPECT_LT(four.worst_factor, 1.8334);
}

// Two units of eight nodes exchange all: eight devices a node over half as many links up.
TEST(Rails, OfTwoNicsEachCarryTwoFlowsANode) {
  EXPECT_NEAR(AxisRates(eight_nics(4)).rate(64, 2, 128).value, 25 * giga / 2, 1.0);
  EXPECT_NEAR(AxisRates(eight_nics(2)).rate(64, 2, 128).value, 25 * giga / 2, 1.0);
}

// Nodes of four members and of two: two rings, over NICs 0 and 2 of the first node's four.
TEST(RingFootprint, OfFewerRingsThanNicsIsSpreadOverThem) {
  const Platform platform = perlmutter();
  const Topology topology(platform, 2);

  const auto shares = by_name(topology, topology.ring_footprint({0, 1, 2, 3, 5, 6}, 0));

  EXPECT_EQ(shares.at("node 0 nic 0 out"), 0.5);
  EXPECT_EQ(shares.at("node 0 nic 2 out"), 0.5);
  EXPECT_EQ(shares.count("node 0 nic 1 out") + shares.count("node 0 nic 3 in"), 0U);
  EXPECT_EQ(shares.at("node 1 nic 1 in"), 0.5);
  EXPECT_EQ(shares.at("node 1 nic 2 in"), 0.5);
}

// Three members and two: rings over the first two of three NICs.
TEST(RingFootprint, OfTwoRingsOverThreeNicsUsesTheFirstTwo) {
  const Platform platform = perlmutter();
  const Topology topology(platform, 2);

  const auto shares = by_name(topology, topology.ring_footprint({1, 2, 3, 4, 7}, 0));

  EXPECT_EQ(shares.at("node 0 nic 1 out"), 0.5);
  EXPECT_EQ(shares.at("node 0 nic 2 in"), 0.5);
  EXPECT_EQ(shares.count("node 0 nic 3 out"), 0U);
  EXPECT_EQ(shares.at("node 1 nic 0 in"), 0.5);
  EXPECT_EQ(shares.at("node 1 nic 3 out"), 0.5);
}

// Members of a node that share one NIC have one ring, whatever their number.
TEST(RingFootprint, HasNoMoreRingsThanNicsThatServeMembers) {
  const Platform platform = frontier();
  const Topology topology(platform, 2);

  const auto shares = by_name(topology, topology.ring_footprint({2, 3, 8, 10, 12, 14}, 0));

  EXPECT_EQ(shares.at("node 0 nic 1 out"), 1.0);
  EXPECT_EQ(shares.at("node 1 nic 0 in"), 1.0);
  EXPECT_EQ(shares.count("node 1 nic 1 in"), 0U);
}

}  // namespace
}  // namespace fourfold::tests
