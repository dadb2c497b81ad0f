// The machines that come with Fourfold, where files are looked for, and what scaling does: scaled
// numbers pass the checks of a file.
#include "platforms/platform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "platforms/file/fact_table.hpp"
#include "platforms/file/notice.hpp"
#include "platforms/file/scale_groups.hpp"
#include "platforms/network/topology.hpp"
#include "support/text_file.hpp"
#include "tests/machines.hpp"
#include "tests/platforms/platform_files.hpp"
#include "tests/refusal.hpp"
#include "tests/toml_tree.hpp"

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

TEST(Platforms, NameEveryNumberOnceAndGiveItsSource) {
  for (const std::string& name : known_platforms()) {
    const Platform platform = read_platform(name);
    EXPECT_GE(platform.facts.size(), 30U) << name;
    std::set<std::string> keys;
    for (const Fact& fact : platform.facts) {
      EXPECT_GE(fact.source.size(), 9U) << name << ' ' << fact.key;
      EXPECT_TRUE(keys.insert(fact.key).second) << name << ' ' << fact.key;
    }
    // One leaves something open.
    EXPECT_EQ(notices(platform).empty(), name != "jean-zay") << name;
  }
}

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
  ::setenv("FOURFOLD_PLATFORMS", "", 1);  // as if it were not set
  const std::vector<std::string> shipped = known_platforms();
  ::unsetenv("FOURFOLD_PLATFORMS");

  EXPECT_THAT(known, ElementsAre("mine"));
  EXPECT_EQ(name, "mine");
  EXPECT_EQ(shipped, known_platforms());
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
  for (const auto& [machine, inner] :
       {std::pair{"frontier", LinkKind::local}, {"juwels-booster", LinkKind::leaf}}) {
    const Platform plain = read_platform(machine);
    const Platform half = read_platform(machine, {{"network.global_bandwidth", 0.5}});
    const Topology before(plain, 256), after(half, 256);

    ASSERT_EQ(before.link_count(), after.link_count());
    std::map<LinkKind, int> seen;
    for (std::int32_t link = 0; link < before.link_count(); ++link) {
      const double factor = before.kind(link) == LinkKind::global ? 0.5 : 1.0;
      ASSERT_DOUBLE_EQ(after.capacity(link).value, factor * before.capacity(link).value);
      ++seen[before.kind(link)];
    }
    EXPECT_GT(seen[LinkKind::global], 0);
    EXPECT_GT(seen[inner], 0);
  }
}

TEST(Scaling, OfAnEntryAndOfItsListMultiply) {
  const auto rate = [](const Scales& scales) {
    return read_platform("crossbar", scales).processor.gemm.front().rate.value;
  };
  const std::string list = "processor.gemm.rate_Tflops";
  const std::string one = "processor.gemm." +
                          std::to_string(read_platform("crossbar").processor.gemm.front().size) +
                          ".rate_Tflops";

  EXPECT_EQ(without_label(one), list);
  EXPECT_EQ(without_label("node.links.0-1.bandwidth_GBps"), "node.links.bandwidth_GBps");
  EXPECT_EQ(without_label("library.simple.hop_across_us"), "library.simple.hop_across_us");
  EXPECT_EQ(without_label("nodes"), "nodes");
  EXPECT_DOUBLE_EQ(rate({{one, 0.5}}), 0.5 * rate({}));
  EXPECT_DOUBLE_EQ(rate({{list, 0.5}}), 0.5 * rate({}));
  EXPECT_DOUBLE_EQ(rate({{one, 0.5}, {list, 0.5}}), 0.25 * rate({}));
}

TEST(Scaling, RefusesWhatCannotBeScaled) {
  EXPECT_THAT(refusal("frontier", {{"processor.memory_Gb", 2}}),
              HasSubstr("did you mean \"processor.memory_GB\"?"));
  EXPECT_THAT(refusal("crossbar", {{"network.global_bandwidth", 2}}),
              HasSubstr("no global links to scale"));
}

// The number of every entry of a family, "node.nics.bandwidth_GBps", times the factor.
void multiply(edits::Tree& file, const std::string& family, double factor) {
  edits::Tree* table = &file;
  std::size_t at = 0;
  for (std::size_t dot; (dot = family.find('.', at)) != std::string::npos; at = dot + 1) {
    table = &table->at(family.substr(at, dot - at));
  }
  const std::string key = family.substr(at);
  const auto times = [&](edits::Tree& number) { number = number.get<double>() * factor; };
  if (!table->contains("entries")) return times(table->at(key).at("value"));
  for (edits::Tree& row : table->at("entries")) {
    if (row.contains(key)) times(row.at(key));
  }
}

TEST(ScaleGroups, AreTakenWhereAFileWithTheirNumbersIs) {
  const std::string path = scratch("scaled_machine.toml").string();
  int taken = 0, refused = 0;
  for (const std::string machine : fixed_machines) {
    const Platform platform = read_platform(path_of_machine(machine));
    std::set<std::string> families;
    for (const Fact& fact : platform.facts) {
      if (!fact.key.starts_with("software.")) families.insert(without_label(fact.key));
    }
    std::set<std::string> keys = families;
    for (const std::string& part : names_of_scale_groups()) keys.insert(part);
    for (const std::string& key : keys) {
      for (const double factor : {0.25, 0.9, 1.2, 4.0}) {
        edits::Tree file = edits::tree_of(read_text_file(path_of_machine(machine)));
        bool any = false;
        for (const std::string& family : families) {
          const double own =
              factor_for(Scales{{key, factor}}, family, file["network"]["kind"].get<std::string>());
          if (own == 1.0) continue;
          any = true;
          multiply(file, family, own);
        }
        if (!any) continue;  // the machine has no such part
        std::ofstream(path) << edits::toml_text(file);
        const std::string of_file = refusal<std::runtime_error>([&] { read_platform(path); });
        const std::string of_scale = refusal<std::runtime_error>([&] {
          check_as_scaled(read_platform(path_of_machine(machine), Scales{{key, factor}}));
        });
        EXPECT_EQ(of_file == "accepted", of_scale == "accepted")
            << machine << ' ' << key << " x " << factor << ": " << of_file << " / " << of_scale;
        ++(of_scale == "accepted" ? taken : refused);
      }
    }
  }
  EXPECT_GT(taken, 300);
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace fourfold::tests
