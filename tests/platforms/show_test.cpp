// What a user sees of a machine: the golden picture of Frontier, and what holds for every machine.
#include "platforms/show/show.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/paths.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Written by `fourfold platforms show frontier`; read it before renewing it.
TEST(Show, FrontierLooksLikeTheGoldenFile) {
  std::ifstream file(source_path("tests/golden/platform_frontier.txt"));
  std::ostringstream golden;
  golden << file.rdbuf();

  const std::string shown = show_platform(read_platform("frontier"));

  EXPECT_EQ(shown, golden.str());
}

class ShownPlatform : public ::testing::TestWithParam<std::string> {};

TEST_P(ShownPlatform, FitsInAHundredColumns) {
  std::istringstream lines(show_platform(read_platform(GetParam())) + list_platforms());

  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 100U) << line;
}

TEST_P(ShownPlatform, MarksEveryUnconfirmedNumber) {
  const Platform platform = read_platform(GetParam());

  const std::string shown = show_platform(platform);

  for (const Fact& fact : platform.facts) {
    const std::size_t place = shown.find("  " + fact.key + " ");
    ASSERT_NE(place, std::string::npos) << fact.key;
    const std::string line = shown.substr(place, shown.find('\n', place) - place);
    EXPECT_EQ(line.find("UNCONFIRMED") != std::string::npos, fact.unconfirmed) << line;
  }
}

TEST_P(ShownPlatform, IsTheSameAsJson) {
  const Platform platform = read_platform(GetParam());

  const auto json = nlohmann::json::parse(show_platform_json(platform));

  EXPECT_EQ(json.at("devices"), platform.devices());
  ASSERT_EQ(json.at("facts").size(), platform.facts.size());
  for (std::size_t i = 0; i < platform.facts.size(); ++i) {
    EXPECT_EQ(json.at("facts")[i].at("key"), platform.facts[i].key);
    EXPECT_EQ(json.at("facts")[i].at("value"), platform.facts[i].value);
    EXPECT_EQ(json.at("facts")[i].at("source"), platform.facts[i].source);
    EXPECT_EQ(json.at("facts")[i].at("unconfirmed"), platform.facts[i].unconfirmed);
  }
}

TEST_P(ShownPlatform, IsInTheList) {
  const Platform platform = read_platform(GetParam());

  EXPECT_THAT(list_platforms(), HasSubstr("\n" + GetParam() + " "));
  EXPECT_THAT(list_platforms(), HasSubstr(platform.title));
  const double peak = platform.processor.advertised_peak.value / 1e12;
  EXPECT_THAT(list_platforms(), ContainsRegex("\n" + GetParam() + " .*" + platform.processor.name +
                                              " +" + fmt::format("{:g}", peak) + " "));
}

INSTANTIATE_TEST_SUITE_P(All, ShownPlatform, ::testing::ValuesIn(known_platforms()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

// 76 other groups x 4 links x 25 GB/s out of 512 NIC ports x 25 GB/s.
TEST(Show, WorksOutTheTaper) {
  const Platform half = read_platform("frontier", {{"network.global_bandwidth", 0.5}});

  EXPECT_THAT(show_platform(read_platform("frontier")), HasSubstr("7.6 TB/s, a taper of 59 %"));
  EXPECT_THAT(show_platform(half), HasSubstr("3.8 TB/s, a taper of 30 %"));
  EXPECT_THAT(show_platform(half), HasSubstr("scaled: network.global_bandwidth x 0.5"));
}

// 3,072 devices x 50 GB/s = 153.6 TB/s in a pod, of which a seventh can leave it.
TEST(Show, WorksOutTheTaperOfATree) {
  EXPECT_THAT(show_platform(read_platform("meta-24k-h100")),
              HasSubstr("[pod]  192 x leaf, 21.9429 TB/s up"));
}

TEST(Show, DrawsASwitchedNodeAsAStar) {
  EXPECT_THAT(show_platform(read_platform("dgx-h100")),
              HasSubstr("switch, 450 GB/s for each device in and out\n   |     |     |"));
}

TEST(Show, DrawsAnUnusualNodeAsAMatrix) {
  Platform platform = read_platform("crossbar");
  platform.node.devices = 3;
  platform.node.links = {{0, 1, {50e9}, "a"}, {1, 2, {70e9}, "b"}};

  const std::string shown = show_platform(platform);

  EXPECT_THAT(shown, HasSubstr("  GB/s      0     1     2\n"
                               "     0      .    50     .\n"
                               "     1     50     .    70\n"
                               "     2      .    70     .\n"));
}

}  // namespace
}  // namespace fourfold::tests
