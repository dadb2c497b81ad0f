// The machines that come with Fourfold, where files are looked for, and what scaling does.
#include "platforms/platform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "platforms/file/notice.hpp"
#include "platforms/network/topology.hpp"
#include "tests/platforms/platform_files.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Fact& fact(const Platform& platform, const std::string& key) {
  for (const Fact& fact : platform.facts) {
    if (fact.key == key) return fact;
  }
  throw std::logic_error("no fact " + key);
}

TEST(Platforms, TheseMachinesComeAlong) {
  EXPECT_THAT(known_platforms(),
              ElementsAre("alps", "aurora", "crossbar", "crossbar-shared", "dgx-b200", "dgx-h100",
                          "dgx-h200", "frontier", "gb200-nvl72", "gb300-nvl72", "jean-zay",
                          "juwels-booster", "leonardo", "lumi", "meta-24k-h100", "mi300x",
                          "perlmutter", "polaris", "selene", "summit", "torus"));
}

class ShippedPlatform : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedPlatform, GivesASourceForEveryNumber) {
  const Platform platform = read_platform(GetParam());

  EXPECT_GE(platform.facts.size(), 30U);
  for (const Fact& fact : platform.facts) EXPECT_GE(fact.source.size(), 9U) << fact.key;
}

TEST_P(ShippedPlatform, NamesEveryNumberOnce) {
  const Platform platform = read_platform(GetParam());

  std::map<std::string, int> count;
  for (const Fact& fact : platform.facts) ++count[fact.key];
  for (const auto& [key, times] : count) EXPECT_EQ(times, 1) << key;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedPlatform, ::testing::ValuesIn(known_platforms()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

// A GCD has 8 link ports: the packages' and cross links, one to the CPU, on odd GCDs one to the
// NIC.
TEST(Frontier, UsesEightLinkPortsOnEveryGcd) {
  const Platform frontier = read_platform("frontier");

  std::vector<int> ports(8, 1);
  for (const InnerLink& link : frontier.node.links) {
    const int width = link.kind.back() - '0';
    ports.at(static_cast<std::size_t>(link.a)) += width;
    ports.at(static_cast<std::size_t>(link.b)) += width;
  }
  for (const std::size_t odd : {1, 3, 5, 7}) ++ports.at(odd);

  EXPECT_THAT(ports, ElementsAre(8, 8, 8, 8, 8, 8, 8, 8));
}

TEST(Platforms, CrossbarsDifferInTheirPortsOnly) {
  const Platform own = read_platform("crossbar");
  const Platform shared = read_platform("crossbar-shared");

  EXPECT_TRUE(std::get<CrossbarNetwork>(own.network).private_port_per_lane);
  EXPECT_FALSE(std::get<CrossbarNetwork>(shared.network).private_port_per_lane);
  EXPECT_EQ(own.devices(), 131072);
  ASSERT_EQ(own.facts.size(), shared.facts.size());
  for (std::size_t i = 0; i < own.facts.size(); ++i) {
    EXPECT_EQ(own.facts[i].key, shared.facts[i].key);
    EXPECT_EQ(own.facts[i].value, shared.facts[i].value);
  }
}

TEST(Platforms, OneLeavesSomethingOpen) {
  for (const std::string& name : known_platforms()) {
    EXPECT_EQ(notices(read_platform(name)).empty(), name != "jean-zay") << name;
  }
}

TEST(Reader, TakesAUsersFileByPath) {
  const std::string path = edited("crossbar", "value = 131072", "value = 16");

  const Platform mine = read_platform(path);

  EXPECT_EQ(mine.devices(), 16);
  EXPECT_EQ(mine.path, path);
}

TEST(Reader, LooksInTheFolderOfTheEnvironment) {
  const auto folder = scratch("folder");
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "mine.toml") << shipped_text("crossbar");

  ::setenv("FOURFOLD_PLATFORMS", folder.c_str(), 1);
  const std::vector<std::string> known = known_platforms();
  const std::string name = read_platform("mine").name;
  ::unsetenv("FOURFOLD_PLATFORMS");

  EXPECT_THAT(known, ElementsAre("mine"));
  EXPECT_EQ(name, "mine");
}

TEST(Reader, KeepsWhatIsUnconfirmed) {
  const Platform frontier = read_platform("frontier");

  EXPECT_TRUE(fact(frontier, "network.global_detours").unconfirmed);
  EXPECT_FALSE(fact(frontier, "network.links_per_group_pair").unconfirmed);
  // An entry's own mark, and the list's where an entry has none.
  EXPECT_TRUE(fact(frontier, "processor.gemm.800.rate_Tflops").unconfirmed);
  EXPECT_FALSE(fact(frontier, "processor.gemm.6400.rate_Tflops").unconfirmed);
  EXPECT_TRUE(fact(read_platform("alps"), "library.in_node.4.bus_bandwidth_GBps").unconfirmed);
}

TEST(Scaling, MultipliesANumberAndKeepsTheFactAsWritten) {
  const Platform half = read_platform("frontier", {{"processor.memory_bandwidth_GBps", 0.5}});

  EXPECT_DOUBLE_EQ(half.processor.memory_bandwidth.value, 0.65e12);
  EXPECT_EQ(fact(half, "processor.memory_bandwidth_GBps").value, 1300);
  EXPECT_EQ(half.scales.size(), 1U);
}

TEST(Scaling, GlobalBandwidthReachesTheLinksOfTheTopology) {
  const Platform plain = read_platform("frontier");
  const Platform half = read_platform("frontier", {{"network.global_bandwidth", 0.5}});
  const Topology before(plain, 256);
  const Topology after(half, 256);

  ASSERT_EQ(before.link_count(), after.link_count());
  std::map<LinkKind, int> seen;
  for (std::int32_t link = 0; link < before.link_count(); ++link) {
    const double factor = before.kind(link) == LinkKind::global ? 0.5 : 1.0;
    ASSERT_DOUBLE_EQ(after.capacity(link).value, factor * before.capacity(link).value);
    ++seen[before.kind(link)];
  }
  EXPECT_GT(seen[LinkKind::global], 0);
  EXPECT_GT(seen[LinkKind::local], 0);
}

TEST(Scaling, RefusesWhatCannotBeScaled) {
  EXPECT_THAT(refusal("frontier", {{"processor.memory_Gb", 2}}),
              HasSubstr("did you mean \"processor.memory_GB\"?"));
  EXPECT_THAT(refusal("frontier", {{"processor.memory_GB", 0}}), HasSubstr("after scaling"));
  EXPECT_THAT(refusal("frontier", {{"network.global_bandwidth", -1}}),
              HasSubstr("must be greater than 0"));
  EXPECT_THAT(refusal("frontier", {{"network.groups", 1.5}}), HasSubstr("whole number"));
  EXPECT_THAT(refusal("crossbar", {{"network.global_bandwidth", 2}}), HasSubstr("crossbar"));
}

}  // namespace
}  // namespace fourfold::tests
