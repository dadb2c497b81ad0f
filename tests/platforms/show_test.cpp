// What a user sees of a machine: the golden picture of Frontier, what holds for every machine, odd
// machines drawn as no shipped one is, and the list of a folder.
#include "platforms/show/show.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "platforms/show/draw.hpp"
#include "tests/golden.hpp"
#include "tests/platforms/drawn_machines.hpp"
#include "tests/platforms/machines_for_tests.hpp"
#include "tests/platforms/written_machine.hpp"

namespace fourfold::tests {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One blank where there are line ends or several.
std::string in_one_line(const std::string& text) {
  return std::regex_replace(" " + text + " ", std::regex("\\s+"), " ");
}

// What `fourfold platforms show frontier` writes before its facts on attention; read it before
// renewing it.
TEST(Show, FrontierLooksLikeTheGoldenFile) {
  const std::string shown = show_platform(read_platform("frontier"));

  expect_golden("platform_frontier.txt", shown.substr(0, shown.find("  processor.attention_")));
}

TEST(Show, EveryMachineIsListedAndShownWithItsMarksAndAsJson) {
  const std::string list = list_platforms();
  for (const std::string& name : known_platforms()) {
    SCOPED_TRACE(name);
    const Platform platform = read_platform(name);
    EXPECT_THAT(list, HasSubstr(platform.title));
    EXPECT_THAT(list, ContainsRegex(fmt::format("\n{} .*{} +{:g} ", name, platform.processor.name,
                                                platform.processor.advertised_peak.value / 1e12)));
    const std::string shown = show_platform(platform), words = in_one_line(shown);
    std::istringstream lines(shown + list);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;

    const auto json = nlohmann::json::parse(show_platform_json(platform));
    EXPECT_EQ(json.at("devices"), platform.devices());
    ASSERT_EQ(json.at("facts").size(), platform.facts.size());
    for (std::size_t i = 0; i < platform.facts.size(); ++i) {
      const Fact& fact = platform.facts[i];
      const std::size_t place = shown.find("  " + fact.key + " ");
      ASSERT_NE(place, std::string::npos) << fact.key;
      const std::string line = shown.substr(place, shown.find('\n', place) - place);
      EXPECT_EQ(line.find("UNCONFIRMED") != std::string::npos, fact.unconfirmed) << line;
      EXPECT_NEAR(std::stod(line.substr(3 + fact.key.size())), fact.value, 1e-5 * fact.value)
          << line;
      EXPECT_NE(words.find(in_one_line(fact.source), words.find(" " + fact.key + " ")),
                std::string::npos)
          << fact.source;
      EXPECT_EQ(json.at("facts")[i].at("key"), fact.key);
      EXPECT_EQ(json.at("facts")[i].at("value"), fact.value);
      EXPECT_EQ(json.at("facts")[i].at("source"), fact.source);
      EXPECT_EQ(json.at("facts")[i].at("unconfirmed"), fact.unconfirmed);
    }
  }
}

// Of a group 76 others x 4 links x 25 GB/s out of 512 NIC ports x 25 GB/s; of a pod 3,072 devices x
// 50 GB/s = 153.6 TB/s, of which a seventh can leave it.
TEST(Show, WorksOutTapersAndDrawsStars) {
  const Platform half = read_platform("frontier", {{"network.global_bandwidth", 0.5}});

  EXPECT_THAT(show_platform(read_platform("frontier")), HasSubstr("7.6 TB/s, a taper of 59 %"));
  EXPECT_THAT(show_platform(half), HasSubstr("3.8 TB/s, a taper of 30 %"));
  EXPECT_THAT(show_platform(half), HasSubstr("scaled: network.global_bandwidth x 0.5"));
  EXPECT_THAT(show_platform(read_platform("meta-24k-h100")),
              HasSubstr("[pod]  192 x leaf, 21.9429 TB/s up"));
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

Nic nic(double rate, std::vector<int> devices) {
  return {{rate * giga}, std::move(devices)};
}

// Squares with one or two devices a corner, matrices up to 15, stars up to 12 and more.
std::vector<Node> odd_nodes() {
  std::vector<Node> nodes;
  Node square = mesh_node(4, 100);
  nodes.push_back(square);
  square.nics = {nic(25, {2}), nic(12.5, {0}), nic(25, {3}), nic(25, {1})};
  square.switch_port = BytesPerSecond{30 * giga};
  nodes.push_back(square);
  Node uneven = mesh_node(5, 40);
  uneven.nics = {nic(25, {0, 4}), nic(25, {1}), nic(25, {2}), nic(25, {3})};
  nodes.push_back(uneven);
  Node full = mi250x_node();
  nodes.push_back(full);
  full.nics = {nic(25, {0, 1, 2}), nic(25, {3}), nic(25, {4, 5}), nic(25, {6, 7})};
  nodes.push_back(full);
  for (int devices : {1, 2, 12, 13}) nodes.push_back(switched_node(devices, 90.25));
  for (int devices : {15, 16}) {
    Node many = mesh_node(devices, 7.5);
    many.links.back().kind = "last";
    many.links.front().bandwidth = BytesPerSecond{12345.678 * giga};
    nodes.push_back(many);
  }
  return nodes;
}

void expect_within_a_page(const std::string& picture) {
  std::istringstream lines(picture);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << "'" << line << "'";
  }
}

TEST(OddPictures, OfNodesShowTheirNicsAndEveryRate) {
  for (const Node& node : odd_nodes()) {
    const std::string picture = draw_node(node);
    expect_within_a_page(picture);
    std::set<std::string> rates;
    for (const Nic& one : node.nics) rates.insert(fmt::format("{:g}", one.bandwidth.value / giga));
    if (node.switch_port) rates.insert(fmt::format("{:g}", node.switch_port->value / giga));
    for (const InnerLink& link : node.links) {
      rates.insert(fmt::format("{:.0f}", link.bandwidth.value / giga).substr(0, 4));
    }
    for (const std::string& rate : rates) EXPECT_THAT(picture, HasSubstr(rate));
  }
}

// Every number of a network stands in its picture, and no two networks look alike.
TEST(OddPictures, OfNetworksDifferInEveryNumber) {
  const BytesPerSecond local{20 * giga};
  const BytesPerSecond global{12.5 * giga};
  Platform platform;
  platform.node = mi250x_node();
  platform.nodes = 10;
  std::set<std::string> seen;
  const std::vector<Network> networks{CrossbarNetwork{false},
                                      CrossbarNetwork{true},
                                      DragonflyNetwork{2, 5, 6, 3, local, global, 2, 0},
                                      DragonflyNetwork{3, 5, 6, 3, local, global, 2, 0},
                                      DragonflyNetwork{2, 4, 6, 3, local, global, 2, 0},
                                      DragonflyNetwork{2, 5, 7, 3, local, global, 2, 0},
                                      DragonflyNetwork{2, 5, 6, 4, local, global, 2, 0},
                                      DragonflyNetwork{2, 5, 6, 3, global, global, 2, 0},
                                      DragonflyNetwork{2, 5, 6, 3, local, local, 2, 0},
                                      DragonflyPlusNetwork{2, 3, 6, 4, 5, local, global, 0},
                                      DragonflyPlusNetwork{3, 3, 6, 4, 5, local, global, 0},
                                      DragonflyPlusNetwork{2, 4, 6, 4, 5, local, global, 0},
                                      DragonflyPlusNetwork{2, 3, 7, 4, 5, local, global, 0},
                                      DragonflyPlusNetwork{2, 3, 6, 5, 5, local, global, 0},
                                      DragonflyPlusNetwork{2, 3, 6, 4, 6, local, global, 0},
                                      FatTreeNetwork{local, 1, {{10, 1.0}}},
                                      FatTreeNetwork{local, 1, {{5, 1.5}, {2, 1.0}}},
                                      FatTreeNetwork{local, 1, {{5, 2.5}, {2, 1.0}}},
                                      FatTreeNetwork{local, 1, {{6, 1.5}, {2, 1.0}}},
                                      FatTreeNetwork{local, 4, {{5, 1.5}, {2, 1.0}}},
                                      FatTreeNetwork{local, 1, {{5, 1.5}, {3, 1.0}}},
                                      FatTreeNetwork{local, 2, {{5, 1.0}, {2, 3.0}, {6, 1.0}}},
                                      TorusNetwork{{10}, local},
                                      TorusNetwork{{2, 5}, global},
                                      TorusNetwork{{5, 2}, global},
                                      TorusNetwork{{2, 5}, local},
                                      TorusNetwork{{5, 2, 3}, local}};
  for (const Network& network : networks) {
    platform.network = network;
    const std::string picture = draw_network(platform);
    expect_within_a_page(picture);
    EXPECT_TRUE(seen.insert(picture).second) << "two networks are\n" << picture;
  }
}

// Two groups of 6 nodes with 4 NICs: 24 x 20 GB/s = 480 GB/s go in, 3 x 12.5 = 37.5 GB/s go out, 8
// %. Two cells of 6 nodes: 24 ports of 25 GB/s = 600 GB/s go in, 5 x 12.5 = 62.5 go out, 10 %.
TEST(OddPictures, OfDragonfliesSayTheirTaper) {
  const BytesPerSecond local{20 * giga};
  const BytesPerSecond global{12.5 * giga};
  Platform platform;
  platform.node = mi250x_node();
  platform.nodes = 10;
  platform.network = DragonflyNetwork{2, 5, 6, 3, local, global, 2, 0};
  EXPECT_THAT(draw_network(platform), HasSubstr("24 x 20 GB/s = 0.5 TB/s\n"));
  EXPECT_THAT(draw_network(platform), HasSubstr("3 x 12.5 GB/s = 0.0 TB/s, a taper of 8 %\n"));
  platform.network = DragonflyPlusNetwork{2, 3, 6, 4, 5, local, global, 0};
  EXPECT_THAT(draw_network(platform), HasSubstr("24 ports          = 0.6 TB/s\n"));
  EXPECT_THAT(draw_network(platform), HasSubstr("12 x 20 GB/s = 0.2 TB/s\n"));
  EXPECT_THAT(draw_network(platform), HasSubstr("5 x 12.5 GB/s = 0.1 TB/s, a taper of 10 %\n"));
}

TEST(OddPictures, OfDrawnMachinesStayOnThePage) {
  MachineDraw draw(12);
  for (int i = 0; i < 24; ++i) {
    const Platform platform = draw.machine(i);
    const std::string picture = draw_node(platform.node) + draw_network(platform);
    expect_within_a_page(picture);
    EXPECT_NE(picture.find("GB/s"), std::string::npos) << picture;
  }
}

WrittenMachine noticed() {
  WrittenMachine machine;
  machine.title =
      "A title that is long enough that the line which it stands on has to be broken "
      "somewhere behind its hundredth column";
  machine.top = "software = \"deepspeed\"\n";
  machine.across =
      "{ devices = 2, bus_bandwidth_GBps = 45 }, "
      "{ devices = 4, bus_bandwidth_GBps = 35, unconfirmed = true }";
  return machine;
}

TEST(OddPictures, ShowAWholeMachine) {
  const Platform platform = noticed().read({{"network.global_bandwidth", 0.5},
                                            {"processor.memory_GB", 1.25},
                                            {"software.dispatch_us", 3.0}},
                                           "megatron-core");

  std::string text = show_platform(platform);

  // The sources of the software are its own file's.
  text.erase(text.find("\n", text.find("  software.dispatch_us")));
  expect_golden("odd_machine.txt", text);
}

TEST(OddJson, IsTheWholeMachine) {
  WrittenMachine machine = noticed();
  machine.others =
      "[operation]\nnode_power_W = { value = 5000, source = \"meter\", unconfirmed = true }\n";
  const Platform platform =
      machine.read({{"processor.memory_GB", 1.25}, {"nodes", 0.5}}, "megatron-core");

  auto json = nlohmann::json::parse(show_platform_json(platform));

  int unconfirmed = 0;
  for (const auto& fact : json.at("facts")) unconfirmed += fact.at("unconfirmed") ? 1 : 0;
  EXPECT_GE(unconfirmed, 2);
  EXPECT_EQ(json.at("notices").size(), 2U);
  json.erase("facts");
  json.erase("notices");
  EXPECT_EQ(json, nlohmann::json({{"name", "IsTheWholeMachine-written"},
                                  {"title", machine.title},
                                  {"nodes", 6},
                                  {"devices_per_node", 4},
                                  {"devices", 24},
                                  {"device", "device"},
                                  {"library", "NCCL"},
                                  {"network", "fat tree, 4 x 3"},
                                  {"software", "deepspeed"},
                                  {"scales", {{"processor.memory_GB", 1.25}, {"nodes", 0.5}}},
                                  {"unconfirmed", unconfirmed}}));
}

TEST(OddJson, NamesEveryKindOfNetwork) {
  const auto words = [](const Network& network) {
    Platform platform = read_platform("crossbar");
    platform.network = network;
    return nlohmann::json::parse(show_platform_json(platform)).at("network").get<std::string>();
  };
  EXPECT_EQ(words(CrossbarNetwork{false}), "crossbar, shared port");
  EXPECT_EQ(words(CrossbarNetwork{true}), "crossbar, port per lane");
  EXPECT_EQ(words(DragonflyNetwork{3, 4, 5, 6, {1}, {1}, 0, 0}), "dragonfly, 3 x 5 nodes");
  EXPECT_EQ(words(DragonflyPlusNetwork{3, 4, 5, 6, 7, {1}, {1}, 0}), "dragonfly+, 3 x 5 nodes");
  EXPECT_EQ(words(FatTreeNetwork{{1}, 1, {{8, 1.0}}}), "single switch, 8");
  EXPECT_EQ(words(FatTreeNetwork{{1}, 1, {{2, 1.0}, {3, 1.0}, {4, 1.0}}}), "fat tree, 4 x 3 x 2");
  EXPECT_EQ(words(TorusNetwork{{4, 3, 2}, {1}}), "torus, 4 x 3 x 2");
}

// Files in a folder of the environment for as long as this lives.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(scratch(name)) {
    std::filesystem::create_directories(path_);
    ::setenv("FOURFOLD_PLATFORMS", path_.c_str(), 1);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { ::unsetenv("FOURFOLD_PLATFORMS"); }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(path_ / file) << text;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(Folders, ListMachinesAndWhatCannotBeReadOfThem) {
  WrittenMachine machine;
  const Folder folder("list");
  folder.write("zeta.toml", machine.text());
  machine.nodes = "5";
  folder.write("alpha.toml", machine.text());
  folder.write("broken.toml", "title = \n");
  folder.write("readme.md", "no machine");
  folder.write("alpha.toml.orig", "no machine");

  const std::string listed = list_platforms();

  EXPECT_THAT(known_platforms(), ElementsAre("alpha", "broken", "zeta"));
  EXPECT_EQ(listed.find(folder.path().string()), listed.rfind(folder.path().string()));
  std::string text = listed;
  const std::size_t broken = text.find("broken ");
  ASSERT_NE(broken, std::string::npos);
  EXPECT_EQ(text.substr(broken, text.find('\n', broken) - broken),
            "broken           cannot be read");
  text.erase(broken, text.find("zeta") - broken);
  EXPECT_EQ(text,
            "platform          devices  device            Tflop/s   memory  network                "
            "   unconfirmed\n"
            "alpha                  20  device                200    64 GB  fat tree, 4 x 3       "
            "      0 of  45\n"
            "    written\n"
            "zeta                   48  device                200    64 GB  fat tree, 4 x 3       "
            "      0 of  45\n"
            "    written\n");
}

TEST(Folders, OfTheEnvironmentThatAreNoneAreSaid) {
  const Folder folder("gone");
  std::filesystem::remove(folder.path());

  EXPECT_EQ(tests::refusal("frontier").substr(0, 25 + folder.path().string().size() + 19),
            "the platforms folder \"" + folder.path().string() + "\" cannot be read: No s");
}

}  // namespace
}  // namespace fourfold::tests
