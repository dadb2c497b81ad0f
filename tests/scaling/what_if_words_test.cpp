// What-ifs in campaigns and lists in files: what they mean, and refusals with line numbers.
#include "scaling/words/what_if_words.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scaling/study/campaign.hpp"
#include "support/random.hpp"
#include "tests/refusal.hpp"
#include "tests/temporary_folder.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* campaign_start = R"(
title = "Small"
batch_tokens = 65_536
[what_if]
jitter = "1%"
collective = "ring"
[[machine]]
platform = "perlmutter"
points = [{ devices = 16, model = "gpt-5b" }]
[[machine]]
platform = "frontier"
points = [{ devices = 16, model = "gpt-5b" }]
)";

std::string refusal(const std::string& list) {
  return tests::refusal<std::runtime_error>([&] {
    read_from(
        list, [](const std::string& path) { return read_placement_list(path, "node", 100); },
        "nodes.txt");
  });
}

TEST(PlacementList, KeepsTheOrderOfItsLines) {
  const TemporaryFolder folder;
  write_content(folder.file("nodes.txt"), "# our nodes\n7\n\n  3 # the slow one\n4\n");

  const WhatIfs what_ifs =
      what_ifs_in({{"placement", "nodes:nodes.txt"}}, read_platform("frontier"), folder.file(""));

  EXPECT_EQ(what_ifs.placement.by, Placing::nodes);
  EXPECT_THAT(what_ifs.placement.list, ElementsAre(7, 3, 4));
}

// The same drawn nodes in the words of Slurm, PBS and mpirun.
TEST(PlacementList, MayNameHostsAsSchedulersDo) {
  const TemporaryFolder folder;
  const Platform frontier = read_platform("frontier");
  const auto placed = [&](const std::string& words, const std::string& list) {
    write_content(folder.file("hosts.txt"), list);
    return what_ifs_in({{"placement", words}}, frontier, folder.file("")).placement.list;
  };
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto draw = [&](std::uint64_t place, std::uint64_t limit) {
      return static_cast<std::int64_t>(random_at(seed, 3, place) % limit);
    };
    std::vector<std::int64_t> nodes{draw(0, 50)};
    while (std::ssize(nodes) < 6) nodes.push_back(nodes.back() + 1 + draw(std::size(nodes), 3));
    const std::int64_t base = 1 + draw(10, 900);
    std::string ranges, slots, lines, all;
    for (const std::int64_t node : nodes) {
      const std::string host = fmt::format("frontier{:05}", base + node);
      ranges += fmt::format("{}{:05}", ranges.empty() ? "" : ",", base + node);
      slots += fmt::format("{}.example.org slots=8\n{}.example.org slots=8\n", host, host);
      lines += host + ":8\r\n";
    }
    for (int node = 0; node < 200; ++node) all += fmt::format("frontier{:05}\n", base + node);
    write_content(folder.file("all.txt"), all);
    const std::string first = fmt::format("nodes:hosts.txt,first=frontier{:05}", base);
    for (const std::string& list : {"frontier[" + ranges + "]\n", slots, lines}) {
      EXPECT_EQ(placed(first, list), nodes);
      EXPECT_EQ(placed("nodes:hosts.txt,of=all.txt", list), nodes);
      const std::vector<std::int64_t> from_the_least = placed("nodes:hosts.txt", list);
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        EXPECT_EQ(from_the_least[i], nodes[i] - nodes[0]);
      }
    }
  }
  const auto refused = [&](const std::string& words, const std::string& list) {
    return tests::refusal<std::runtime_error>([&] { placed(words, list); });
  };
  EXPECT_THAT(refused("nodes:hosts.txt", "x1000c0s0b0n0\nx1001c0s0b0n0\n"),
              HasSubstr("differ in more than their last number"));
  EXPECT_THAT(refused("nodes:hosts.txt", "nid[001-x]\n"), HasSubstr("line 1: '001-x' in brackets"));
  EXPECT_THAT(refused("nodes:hosts.txt", "nid[001\n"), HasSubstr("without its other one"));
  EXPECT_THAT(refused("nodes:hosts.txt", "nid1\nnid99999\n"), HasSubstr("would be node 99998"));
  EXPECT_THAT(refused("nodes:hosts.txt,first=nid7", "nid5\n"), HasSubstr("lower number than nid7"));
  EXPECT_THAT(refused("nodes:hosts.txt,of=all.txt", "nid5\n"), HasSubstr("none of the machine's"));
  EXPECT_THAT(refused("nodes:hosts.txt,first=nid7", "5\n"), HasSubstr("names no hosts"));
}

TEST(PlacementList, RefusesWithTheLine) {
  for (const auto& [list, why] :
       {std::pair{"1\ntwo\n", "nodes.txt, line 2: 'two' is no node number"},
        {"1\n2 3\n", "line 2: '2 3'"},
        {"1\n\n100\n", "line 3: there is no node 100; the machine has 0"},
        {"-1\n", "line 1: there is no node -1"},
        {"5\n6\n5\n", "line 3: node 5 stands in line 1 already"},
        {"# nothing\n", "the list is empty"}}) {
    EXPECT_THAT(refusal(list), HasSubstr(why));
  }
}

TEST(CampaignWhatIfs, AMachineSaysMoreThanTheCampaign) {
  const Campaign campaign = read_from(
      std::string(campaign_start) + "what_if = { slow_devices = \"1:0.5\", jitter = \"3%\" }\n",
      [](const std::string& path) { return read_campaign(path); });

  ASSERT_EQ(campaign.questions.size(), 2u);
  EXPECT_EQ(campaign.questions[0].what_ifs.jitter_percent, 1.0);
  EXPECT_TRUE(campaign.questions[0].what_ifs.slow_devices.none());
  EXPECT_EQ(campaign.questions[1].what_ifs.jitter_percent, 3.0);
  EXPECT_EQ(campaign.questions[1].what_ifs.slow_devices.count, 1);
  EXPECT_EQ(campaign.questions[1].what_ifs.collective.algorithm, CollectiveAlgorithm::ring);
}

}  // namespace
}  // namespace fourfold::tests
