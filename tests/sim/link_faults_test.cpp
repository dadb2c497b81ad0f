// What faults do to links: capacities where several meet on one link, and the ways that traffic
// takes instead.
#include "sim/conditions/link_faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/platforms/machines_for_tests.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

using ::testing::HasSubstr;

class LinkFaultsTest : public OnFrontier {
 protected:
  FaultyLinks with(std::vector<Degradation> degrade, std::vector<Failure> fail) const {
    return FaultyLinks({std::move(degrade), std::move(fail)}, topology, platform);
  }
  // Where a load of 1 on the link goes.
  std::map<std::string, double> moved(const FaultyLinks& faults, const std::string& name) const {
    Footprint footprint{{link(name), 1.0}};
    faults.reroute(footprint);
    std::map<std::string, double> shares;
    for (const LinkShare& entry : footprint) {
      const double carried = entry.share * faults.kept(entry.link);
      if (carried > 0.0) shares[topology.link_name(entry.link)] += carried;
    }
    return shares;
  }
  std::string said(std::vector<Failure> fail, std::vector<Degradation> degrade = {}) const {
    return refusal<std::runtime_error>([&] { with(degrade, fail); });
  }
};

TEST_F(LinkFaultsTest, WhatSeveralFaultsLeaveOfALinkIsTheirProduct) {
  const FaultyLinks faults =
      with({{"global:0-1", 0.5}, {"nic:5.2", 0.5}, {"node 5 nic 2 out", 0.2}}, {{"global:0-1", 1}});

  EXPECT_DOUBLE_EQ(faults.capacity(link("group 0 -> group 1")), 0.5 * 3 * 25e9);
  EXPECT_DOUBLE_EQ(faults.capacity(link("group 1 -> group 0")), 0.5 * 3 * 25e9);
  EXPECT_DOUBLE_EQ(faults.capacity(link("group 0 -> group 2")), 4 * 25e9);
  EXPECT_DOUBLE_EQ(faults.capacity(link("node 5 nic 2 out")), 0.1 * 25e9);
  EXPECT_DOUBLE_EQ(faults.capacity(link("node 5 nic 2 in")), 0.5 * 25e9);
}

TEST_F(LinkFaultsTest, TrafficOfAFailedNicIsSharedByThoseThatAreLeft) {
  const FaultyLinks one = with({}, {{"nic:3.2", 1}});
  const FaultyLinks two = with({}, {{"nic:3.2", 1}, {"nic:3.0", 1}});
  const std::map<std::string, double> sound{{"node 4 nic 2 out", 1.0}};

  EXPECT_EQ(moved(one, "node 3 nic 2 in"),
            (std::map<std::string, double>{{"node 3 nic 0 in", 1.0 / 3},
                                           {"node 3 nic 1 in", 1.0 / 3},
                                           {"node 3 nic 3 in", 1.0 / 3}}));
  for (const char* failed : {"node 3 nic 0 out", "node 3 nic 2 out"}) {
    EXPECT_EQ(moved(two, failed), (std::map<std::string, double>{{"node 3 nic 1 out", 0.5},
                                                                 {"node 3 nic 3 out", 0.5}}));
  }
  EXPECT_EQ(moved(two, "node 4 nic 2 out"), sound);
}

// Whatever is wrong with a link, it is refused where the job sends nothing over it.
TEST_F(LinkFaultsTest, OfLinksThatNothingIsSentOverAreRefused) {
  for (const LinkFaults& faults :
       {LinkFaults{{{"global:0-1", 0.5}}, {}, {}}, LinkFaults{{}, {{"global:0-1", 1}}, {}},
        LinkFaults{{}, {}, {{"global", 50.0}}}}) {
    const FaultyLinks harmed(faults, topology, platform);
    const Footprint over{{link("group 0 -> group 1"), 1.0}}, beside{{link("node 3 nic 2 in"), 1.0}};
    EXPECT_NO_THROW(harmed.refuse_idle({beside, over}));
    EXPECT_THAT(refusal<std::runtime_error>([&] { harmed.refuse_idle({beside}); }),
                HasSubstr("global"));
  }
}

// 74 groups: 72 others, 71 where the way through group 5 has failed as well.
TEST_F(LinkFaultsTest, TrafficOfAFailedGroupPairGoesThroughAllOtherGroups) {
  const auto one = moved(with({}, {{"global:0-1", 4}}), "group 0 -> group 1");
  const auto two = moved(with({}, {{"global:0-1", 4}, {"global:1-5", 4}}), "group 0 -> group 1");

  EXPECT_EQ(one.size(), 2U * 72);
  EXPECT_DOUBLE_EQ(one.at("group 0 -> group 5"), 1.0 / 72);
  EXPECT_DOUBLE_EQ(one.at("group 73 -> group 1"), 1.0 / 72);
  EXPECT_EQ(two.size(), 2U * 71);
  EXPECT_FALSE(two.contains("group 0 -> group 5"));
  EXPECT_DOUBLE_EQ(two.at("group 6 -> group 1"), 1.0 / 71);
}

TEST_F(LinkFaultsTest, TrafficOfAFailedSwitchPairGoesThroughTheOtherSwitchesOfItsGroup) {
  const auto shares = moved(with({}, {{"local:1.3-9", 1}}), "group 1 switch 9 -> switch 3");

  EXPECT_EQ(shares.size(), 2U * 30);
  EXPECT_DOUBLE_EQ(shares.at("group 1 switch 9 -> switch 31"), 1.0 / 30);
  EXPECT_DOUBLE_EQ(shares.at("group 1 switch 31 -> switch 3"), 1.0 / 30);
}

// However slow which NICs of a node are: all of them together carry what is left of them, equally
// slow ones among them, so that one that loses more never helps.
TEST_F(LinkFaultsTest, SlowNicsOfANodeCarryWhatIsLeftOfThem) {
  // How full the fullest NIC is with a load of 1 on each.
  const auto fullest = [&](const std::vector<double>& left) {
    std::vector<Degradation> slow;
    std::vector<Failure> gone;
    for (std::size_t nic = 0; nic < left.size(); ++nic) {
      const std::string name = "nic:3." + std::to_string(nic);
      if (left[nic] == 0.0) gone.push_back({name, 1});
      if (left[nic] > 0.0 && left[nic] < 1.0) slow.push_back({name, left[nic]});
    }
    const FaultyLinks faults = with(slow, gone);
    std::map<std::int32_t, double> loads;
    for (std::size_t nic = 0; nic < left.size(); ++nic) {
      Footprint footprint{{link("node 3 nic " + std::to_string(nic) + " out"), 1.0}};
      faults.reroute(footprint);
      for (const LinkShare& entry : footprint) loads[entry.link] += entry.share;
    }
    double most = 0.0;
    for (const auto& [one, load] : loads) {
      most = std::max(most, load * topology.capacity(one).value / faults.bound(one));
    }
    return most;
  };
  std::mt19937 drawn(11);
  const auto share = [&] { return static_cast<double>(1 + drawn() % 100) / 100.0; };
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> left(4);
    for (double& one : left) one = drawn() % 4 == 0 ? 0.0 : drawn() % 4 == 0 ? 1.0 : share();
    const double sum = std::accumulate(left.begin(), left.end(), 0.0);
    if (sum == 0.0) continue;
    EXPECT_NEAR(fullest(left), 4.0 / sum, 1e-9 / sum) << ::testing::PrintToString(left);
    const double alike = share();
    EXPECT_NEAR(fullest({alike, alike, alike, alike}), 1.0 / alike, 1e-9 / alike);
  }
}

TEST_F(LinkFaultsTest, RefusesALinkThatIsNamedTwiceOrGoneAndToLoseMoreThanThereIs) {
  EXPECT_THAT(said({{"nic:0.0", 1}, {"nic:0.0", 1}}), HasSubstr("'nic:0.0' is named twice"));
  EXPECT_THAT(said({{"global:0-1", 1}, {"global:1-0", 1}}),
              HasSubstr("'global:1-0' and 'global:0-1' are the same link"));
  EXPECT_THAT(said({}, {{"nic:0.0", 0.5}, {"nic:0.0", 0.5}}), HasSubstr("is named twice"));
  EXPECT_EQ(said({{"nic:0.0", 1}, {"nic:0.1", 1}}), "accepted");
  EXPECT_EQ(said({}, {{"node 0 nic 0 out", 0.5}, {"node 0 nic 0 in", 0.5}}), "accepted");
  EXPECT_THAT(said({{"nic:0.0", 1}}, {{"nic:0.0", 0.5}}), HasSubstr("'nic:0.0' is gone"));
  EXPECT_THAT(said({{"nic:3.0", 1}, {"nic:3.1", 1}, {"nic:3.2", 1}, {"nic:3.3", 1}}),
              HasSubstr("nothing is left that could carry the traffic of 'node 3 nic"));
  EXPECT_EQ(said({{"nic:3.0", 1}, {"nic:3.1", 1}, {"nic:3.2", 1}, {"nic:2.3", 1}}), "accepted");
  for (const auto& [name, cables] :
       {std::pair{"nic:0.0", 1}, std::pair{"local:0.0-1", 1}, std::pair{"global:0-1", 4}}) {
    EXPECT_EQ(said({{name, cables}}), "accepted");
    EXPECT_THAT(said({{name, cables + 1}}), HasSubstr("cannot fail")) << name;
    for (const char* behind : {"x", " ", ".0", "-1", ":0"}) {
      EXPECT_NE(said({{std::string(name) + behind, 1}}), "accepted") << name << behind;
    }
  }
}

// What other jobs take is gone from a link whether it has other ways or none.
TEST_F(LinkFaultsTest, OfALinkThatOthersUseAsMuchIsLeftWithOtherWays) {
  for (const double percent : {10.0, 50.0, 90.0}) {
    const FaultyLinks faults({{}, {{"global:0-1", 1}}, {{"global", percent}}}, topology, platform);
    const double left = 4 * 25e9 * (1.0 - percent / 100.0);

    EXPECT_DOUBLE_EQ(faults.bound(link("group 0 -> group 1")), left);
    EXPECT_DOUBLE_EQ(faults.bound(link("group 0 -> group 2")), left);
  }
}

}  // namespace
}  // namespace fourfold::tests
