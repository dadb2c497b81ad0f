// Conditions on every kind of network: scales and faults of links that a job does or does not use,
// where ranks lie under both a placement and a rank order, which tunings mean something. What is
// refused and what changes is golden; machines are the tests' own.
#include "sim/conditions/conditions.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "platforms/file/sections.hpp"
#include "sim/conditions/idle_scales.hpp"
#include "sim/conditions/link_faults.hpp"
#include "tests/golden.hpp"
#include "tests/machines.hpp"
#include "tests/refusal.hpp"

namespace fourfold {
namespace {

using testing::fixed_machines;
using testing::path_of_machine;

Point job(const std::string& machine, const ProcessGrid& grid) {
  Point point;
  point.platform = path_of_machine(machine);
  point.model = {"small", 4, 768, 12, 256, 5003};
  point.grid = grid;
  point.global_batch = 64;
  point.options.micro_batches = 1;
  return point;
}

// One device; a node, or a part of one; over nodes by x, y, z, data and pipe alone.
std::vector<ProcessGrid> grids() {
  return {ProcessGrid(1, 1, 1, 1),  ProcessGrid(2, 1, 1, 1),   ProcessGrid(1, 2, 1, 2),
          ProcessGrid(24, 1, 1, 1), ProcessGrid(1, 24, 1, 1),  ProcessGrid(2, 1, 16, 1),
          ProcessGrid(2, 1, 1, 16), ProcessGrid(2, 2, 2, 1, 4)};
}

std::string said_to_scales(Point point, const Scales& scales) {
  point.scales = scales;
  return refusal<std::exception>(
      [&] { refuse_idle_scales(point, read_platform(point.platform, scales)); });
}

std::vector<std::string> link_keys(const std::string& machine) {
  std::set<std::string> keys{global_bandwidth_scale, "node.nics.bandwidth_GBps"};
  for (const Fact& fact : read_platform(path_of_machine(machine)).facts) {
    const bool elsewhere = fact.key.starts_with("processor.") || fact.key.starts_with("library.");
    if (fact.key.ends_with("_GBps") && !elsewhere) keys.insert(fact.key);
  }
  return {keys.begin(), keys.end()};
}

// All keys by what is said to them, where that is not only which key it is.
TEST(IdleScales, AreRefusedAsTheGoldenText) {
  std::string text;
  for (const std::string machine : fixed_machines) {
    for (const ProcessGrid& grid : grids()) {
      std::map<std::string, std::string> keys;
      for (const std::string& key : link_keys(machine)) {
        std::string said = said_to_scales(job(machine, grid), {{key, 0.5}});
        const std::size_t at = said.find(key);
        if (at != std::string::npos) said.replace(at, key.size(), "KEY");
        keys[said] += " " + key;
      }
      text += fmt::format("{} {}\n", machine, grid.str());
      for (const auto& [said, all] : keys) text += fmt::format("  {}:{}\n", said, all);
    }
  }

  expect_golden("idle_scales.txt", text);
}

// Each is looked at by itself: neither an idle one nor one that takes effect hides another.
TEST(IdleScales, AreRefusedBesideWhateverOther) {
  int hidden = 0;
  for (const std::string machine : {"dragonfly", "fat-tree-3", "torus"}) {
    for (const ProcessGrid& grid : {ProcessGrid(2, 1, 1, 1), ProcessGrid(2, 1, 1, 16)}) {
      const Point point = job(machine, grid);
      std::map<std::string, bool> idle;
      for (const std::string& key : link_keys(machine)) {
        const std::string said = said_to_scales(point, {{key, 0.5}});
        if (said != "accepted" && said.find("cannot take effect") == std::string::npos) continue;
        idle[key] = said != "accepted";
      }
      for (const auto& [one, one_idle] : idle) {
        for (const auto& [other, other_idle] : idle) {
          if (one >= other) continue;
          const std::string said = said_to_scales(point, {{one, 0.5}, {other, 2.0}});

          EXPECT_EQ(said != "accepted", one_idle || other_idle)
              << one << " " << other << " " << said;
          hidden += one_idle != other_idle;
        }
      }
    }
  }
  EXPECT_GT(hidden, 20) << "idle ones beside others were to be tried";
}

TEST(IdleScales, OfNothingButLinksAndOfOneAreLeftAlone) {
  const Point alone = job("dragonfly", {1, 1, 1, 1});

  EXPECT_EQ(said_to_scales(alone, {{"node.nics.bandwidth_GBps", 1.0}}), "accepted");
  EXPECT_EQ(said_to_scales(alone, {{"processor.memory_bandwidth_GBps", 0.5}}), "accepted");
  EXPECT_EQ(said_to_scales(alone, {{"library.across.bus_bandwidth_GBps", 0.5}}), "accepted");
  EXPECT_EQ(said_to_scales(alone, {{"network.link_bandwidth_GBps", 0.5}}),
            "--scale network.link_bandwidth_GBps=0.5 cannot take effect: 1 devices on grid 1x1x1x1 "
            "send nothing over such links");
}

// The same job spread over the groups of the network uses the links between them.
TEST(IdleScales, AreThoseOfTheJobWhereItLies) {
  Point point = job("dragonfly", {4, 1, 1, 2});
  const Scales global{{global_bandwidth_scale, 0.5}};

  EXPECT_NE(said_to_scales(point, global), "accepted");
  point.what_ifs.placement.by = Placing::spread;
  EXPECT_EQ(said_to_scales(point, global), "accepted");
  point.what_ifs.placement = {Placing::nodes, {0, 39}};
  EXPECT_EQ(said_to_scales(point, global), "accepted");
  point.what_ifs.placement = {Placing::nodes, {0, 1}};
  EXPECT_NE(said_to_scales(point, global), "accepted");
}

std::vector<std::string> words() {
  return {"nic:0.0",
          "nic:0.1",
          "nic:1.0",
          "nic:0.9",
          "nic:99.0",
          "inner:0.0-1",
          "inner:1.1-0",
          "inner:0.0-2",
          "inner:0.0-3",
          "local:0.0-1",
          "local:0.1-0",
          "local:0.0-9",
          "global:0-1",
          "global:1-0",
          "global:0-0",
          "device:0",
          "device:3",
          "device:999",
          "device:-1",
          "nic:0",
          "nic:0.0x",
          "leaf 0",
          "unit 0 rail 1",
          "pod 0",
          "node 0 nic 0 out",
          "node 0 nic 0 in",
          "cell 0 leaf 0",
          "cell 0 -> cell 1",
          "group 0 -> group 1",
          "router 0 -> router 1 (dimension 0 on)",
          "",
          "device 0"};
}

// Which links a fault changes and by how much, and where the traffic of one that is gone goes.
std::string effect(const LinkFaults& faults, const Topology& topology, const Platform& platform) {
  std::string text;
  const std::string said = refusal<std::exception>([&] {
    const FaultyLinks faulty(faults, topology, platform);
    for (std::int32_t link = 0; link < topology.link_count(); ++link) {
      const double part = faulty.capacity(link) / topology.capacity(link).value;
      if (part != 1.0) text += fmt::format(" {} x {:.6g}", topology.link_name(link), part);
      Footprint footprint{{link, 1.0}};
      faulty.reroute(footprint);
      if (footprint.size() == 1 && footprint.front().link == link) continue;
      double shares = 0.0;
      for (const LinkShare& entry : footprint) shares += entry.share;
      text += fmt::format(" {} over {} links, {:.6g}, from {} to {};", topology.link_name(link),
                          footprint.size(), shares, topology.link_name(footprint.front().link),
                          topology.link_name(footprint.back().link));
    }
    const Footprint of_first{{0, 1.0}};
    const std::string idle = refusal<std::exception>([&] {
      faulty.refuse_idle({of_first, of_first});
    });
    if (idle == "accepted") text += " (loads the first link)";
  });
  // Of several such links any may be named.
  const std::string no_way = "nothing is left that could carry the traffic of";
  if (said.starts_with(no_way)) return " " + no_way + " one of them";
  return said == "accepted" ? text : " " + said;
}

TEST(LinkFaults, OfEveryWordOnEveryNetworkAreTheGoldenText) {
  std::string text;
  for (const std::string machine : fixed_machines) {
    const Platform platform = read_platform(path_of_machine(machine));
    const Topology topology(platform, 10);
    text += machine + "\n";
    for (const std::string& word : words()) {
      const std::string degraded = effect({{{word, 0.5}}, {}}, topology, platform);
      text += fmt::format("  '{}' x 0.5:{}\n", word, degraded);
      if (degraded.find("the job has no link") != std::string::npos) continue;
      for (const std::int64_t cables : {1, 2, 3, 4}) {
        const std::string failed = effect({{}, {{word, cables}}}, topology, platform);
        text += fmt::format("    {} failed:{}\n", cables, failed);
        if (failed.find("cannot fail") != std::string::npos) break;
      }
    }
  }

  expect_golden("link_faults.txt", text);
}

// Two faults on one machine, in either order.
TEST(LinkFaults, OfPairsOnADragonflyAreTheGoldenText) {
  const Platform platform = read_platform(path_of_machine("dragonfly"));
  const Topology topology(platform, 40);
  const std::vector<std::string> of_pairs{"nic:0.0",    "nic:0.1",    "local:0.0-1", "local:0.1-2",
                                          "global:0-1", "global:1-2", "global:1-0"};
  std::string text;
  for (const std::string& one : of_pairs) {
    for (const std::string& other : of_pairs) {
      for (const std::int64_t cables : {1, 3}) {
        const bool global = one.starts_with("global") && other.starts_with("global");
        if (cables == 3 && !global) continue;
        text += fmt::format("{} and {}, {} failed:{}\n", one, other, cables,
                            effect({{}, {{one, cables}, {other, cables}}}, topology, platform));
      }
      text += fmt::format("{} x 0.5, {} failed:{}\n", one, other,
                          effect({{{one, 0.5}}, {{other, 1}}}, topology, platform));
      text += fmt::format("{} x 0.5, {} x 0.25:{}\n", one, other,
                          effect({{{one, 0.5}, {other, 0.25}}, {}}, topology, platform));
    }
  }

  expect_golden("link_fault_pairs.txt", text);
}

// Whatever places the job says where its places are, and the rank order which rank takes which.
TEST(Conditions, PutRanksInTheirOrderOnWhicheverPlacesThereAre) {
  const Platform platform = read_platform(path_of_machine("dragonfly"));
  for (const Placement& placement :
       {Placement{}, Placement{Placing::spread, {}}, Placement{Placing::random, {}},
        Placement{Placing::nodes, {7, 3, 39, 0, 11, 4}}}) {
    for (const char* words : {"pipe,data,z,y,x", "z,x", "y,x,data", "data,pipe,x,y,z"}) {
      Point point = job("dragonfly", {2, 3, 2, 2});
      point.what_ifs.placement = placement;
      const Mapping places = mapping_of(point, platform);

      point.options.rank_order = RankOrder::parse(words);
      const Mapping mapping = mapping_of(point, platform);

      for (std::int64_t rank = 0; rank < point.grid.size(); ++rank) {
        const std::int64_t place = point.options.rank_order.place(point.grid, rank);
        EXPECT_EQ(mapping.devices[static_cast<std::size_t>(rank)],
                  places.devices[static_cast<std::size_t>(place)])
            << name(placement.by) << " " << words << " " << rank;
      }
    }
  }
}

TEST(Conditions, SlowDevicesAreThoseOfTheMachineAndCountedOnesThoseOfTheRanks) {
  const Platform platform = read_platform(path_of_machine("dragonfly"));
  Point point = job("dragonfly", {2, 1, 1, 4});
  point.what_ifs.placement = {Placing::nodes, {9, 2}};
  point.options.rank_order = RankOrder::parse("data");
  const Mapping mapping = mapping_of(point, platform);

  point.what_ifs.slow_devices = {0, {8, 38}, 0.25};
  const std::vector<double> listed = compute_factors(point, mapping);
  point.what_ifs.slow_devices = {3, {}, 0.5};
  const std::vector<double> counted = compute_factors(point, mapping);
  point.what_ifs.slow_devices = {0, {12}, 0.5};
  const std::string said = refusal<std::exception>([&] { compute_factors(point, mapping); });

  for (std::size_t rank = 0; rank < 8; ++rank) {
    const std::int64_t device = mapping.devices[rank];
    EXPECT_EQ(listed[rank], device == 8 || device == 38 ? 4.0 : 1.0) << rank;
    EXPECT_EQ(counted[rank], rank == 1 || rank == 4 || rank == 6 ? 2.0 : 1.0) << rank;
  }
  EXPECT_EQ(said,
            "device 12 is to be slow, but the job does not use it; it lies on 8 devices, the last "
            "is 39");
}

TEST(Conditions, IdleTuningsAreRefusedAsTheGoldenText) {
  const Platform platform = read_platform(path_of_machine("dragonfly"));
  std::string text;
  for (const ProcessGrid& grid : grids()) {
    std::map<std::string, std::string> tunings;
    for (const std::string kind : {"", "all-gather:", "reduce-scatter:", "all-reduce:"}) {
      for (const std::string algorithm : {"auto", "ring", "tree", "recursive", "hierarchical"}) {
        Point point = job("dragonfly", grid);
        const std::string tuning = kind + algorithm;
        point.what_ifs.collective = collective_tuning(tuning);
        std::string said = refusal([&] { refuse_idle_tuning(point, platform); });
        const std::size_t at = said.find(tuning);
        if (at != std::string::npos) said.replace(at, tuning.size(), "WORDS");
        tunings[said] += " " + tuning;
      }
    }
    text += grid.str() + "\n";
    for (const auto& [said, all] : tunings) text += fmt::format("  {}:{}\n", said, all);
  }

  expect_golden("idle_tunings.txt", text);
}

}  // namespace
}  // namespace fourfold
