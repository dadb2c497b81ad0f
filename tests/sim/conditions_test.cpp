// Conditions on every kind of network: scales and faults of links that a job does or does not use,
// where ranks lie under both a placement and a rank order, which tunings mean something. What is
// refused would change nothing; machines are the tests' own.
#include "sim/conditions/conditions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "platforms/file/sections.hpp"
#include "schedule/models/fit.hpp"
#include "sim/conditions/idle_scales.hpp"
#include "sim/conditions/link_faults.hpp"
#include "sim/cost/lower.hpp"
#include "sim/estimate/estimate.hpp"
#include "tests/machines.hpp"
#include "tests/points.hpp"
#include "tests/refusal.hpp"

namespace fourfold::tests {
namespace {

Point job(const std::string& machine, const ProcessGrid& grid) {
  return made_up_point(path_of_machine(machine), {"small", 4, 768, 12, 256, 5003}, grid, 64,
                       with_micro_batches(1));
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
  std::set<std::string> keys{global_bandwidth_scale, "nics", "network", "node.nics.bandwidth_GBps"};
  for (const Fact& fact : read_platform(path_of_machine(machine)).facts) {
    const bool elsewhere = fact.key.starts_with("processor.") || fact.key.starts_with("library.");
    if (fact.key.ends_with("_GBps") && !elsewhere) keys.insert(fact.key);
  }
  return {keys.begin(), keys.end()};
}

// What is refused would move nothing; a job that leaves its nodes hears of none of its NICs.
TEST(IdleScales, AreRefusedWhereTheyWouldMoveNothing) {
  int refused = 0, moving = 0;
  for (const std::string machine : fixed_machines) {
    for (const ProcessGrid& grid : grids()) {
      const Point point = job(machine, grid);
      const bool fits =
          find_misfit(point.model, grid, point.global_batch, point.options) == Misfit::none;
      if (!fits) continue;
      const double before = estimate_step(point, read_platform(point.platform)).outcome.total.value;
      for (const std::string& key : link_keys(machine)) {
        const std::string said = said_to_scales(point, {{key, 0.5}});
        if (said.find("has no ") != std::string::npos) continue;  // such links
        const double after =
            estimate_step(point, read_platform(point.platform, {{key, 0.5}})).outcome.total.value;
        SCOPED_TRACE(machine + " " + grid.str() + " " + key);
        if (said == "accepted") {
          EXPECT_GE(after, before * (1.0 - 5e-3));  // what one lane loses another may gain
          moving += after > before ? 1 : 0;
        } else {
          EXPECT_THAT(said, ::testing::HasSubstr("--scale " + key + "=0.5 cannot take effect"));
          EXPECT_EQ(after, before);
          ++refused;
        }
        const bool crosses = grid.size() > 6 && !machine.starts_with("crossbar");
        if (crosses && key == "node.nics.bandwidth_GBps") {
          EXPECT_EQ(said, "accepted");
        }
        if (grid.size() == 1) {
          EXPECT_NE(said, "accepted");
        }
      }
    }
  }
  EXPECT_GT(refused, 30);
  EXPECT_GT(moving, 15);
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
  std::istringstream all(
      "nic:0.0|nic:0.1|nic:1.0|nic:0.9|nic:99.0|inner:0.0-1|inner:1.1-0|inner:0.0-2|inner:0.0-3"
      "|local:0.0-1|local:0.1-0|local:0.0-9|global:0-1|global:1-0|global:0-0|device:0|device:3"
      "|device:999|device:-1|nic:0|nic:0.0x|leaf 0|unit 0 rail 1|pod 0|node 0 nic 0 out"
      "|node 0 nic 0 in|cell 0 leaf 0|cell 0 -> cell 1|group 0 -> group 1"
      "|router 0 -> router 1 (dimension 0 on)||device 0");
  std::vector<std::string> each;
  for (std::string word; std::getline(all, word, '|');) each.push_back(word);
  return each;
}

std::string said_to_faults(const LinkFaults& faults, const Topology& topology,
                           const Platform& platform) {
  return refusal<std::exception>([&] { const FaultyLinks faulty(faults, topology, platform); });
}

// Of a word that names links: both directions of one link keep half, no other link changes; a cable
// that fails takes its part, and traffic goes elsewhere: all of it only where no cable is left.
TEST(LinkFaults, TouchTheLinkThatTheyNameAndNoOther) {
  int known = 0, gone = 0, partly = 0;
  for (const std::string machine : fixed_machines) {
    const Platform platform = read_platform(path_of_machine(machine));
    const Topology topology(platform, 10);
    for (const std::string& word : words()) {
      const LinkFaults half{{{word, 0.5}}, {}};
      const std::string said = said_to_faults(half, topology, platform);
      SCOPED_TRACE(machine + " '" + word + "'");
      if (said != "accepted") {
        EXPECT_NE(said.find("link"), std::string::npos) << said;
        continue;
      }
      ++known;
      const FaultyLinks faulty(half, topology, platform);
      int touched = 0;
      for (std::int32_t link = 0; link < topology.link_count(); ++link) {
        const double part = faulty.capacity(link) / topology.capacity(link).value;
        touched += part == 1.0 ? 0 : 1;
        EXPECT_TRUE(part == 1.0 || part == 0.5) << topology.link_name(link);
      }
      EXPECT_TRUE(touched == 1 || touched == 2) << touched;
      if (said_to_faults({{}, {{word, 1}}}, topology, platform) != "accepted") continue;
      const FaultyLinks failed({{}, {{word, 1}}}, topology, platform);
      for (std::int32_t link = 0; link < topology.link_count(); ++link) {
        Footprint footprint{{link, 1.0}};
        failed.reroute(footprint);
        if (footprint.size() == 1 && footprint.front().link == link) continue;
        const double left = failed.capacity(link) / topology.capacity(link).value;
        ++(left == 0.0 ? gone : partly);
        double shares = 0.0;
        for (const LinkShare& entry : footprint) {
          const double carried = entry.share * failed.kept(entry.link);
          shares += carried;
          if (entry.link == link) {
            EXPECT_GE(carried, left - 1e-12);
            EXPECT_LT(carried, 1.0);
          } else {
            EXPECT_GT(carried, 0.0);
            EXPECT_EQ(failed.capacity(entry.link), topology.capacity(entry.link).value);
          }
        }
        EXPECT_GE(shares, 1.0 - 1e-9) << topology.link_name(link) << ": nothing is lost";
      }
    }
  }
  EXPECT_GT(known, 30);
  EXPECT_GT(gone, 4);
  EXPECT_GT(partly, 0);
}

// Of what has other ways: sound is no worse than degraded, a little no worse than much, and that no
// worse than gone, whatever passes.
TEST(LinkFaults, AreWorseTheLessIsLeft) {
  int compared = 0;
  for (const std::string machine : fixed_machines) {
    const Platform platform = read_platform(path_of_machine(machine));
    const Topology topology(platform, 10);
    for (const std::string& word : words()) {
      const int cables = word.starts_with("global") ? 3 : 1;
      const LinkFaults gone{{}, {{word, cables}}};
      if (said_to_faults(gone, topology, platform) != "accepted") continue;
      const std::vector<LinkFaults> faults{
          {}, {{{word, 0.9}}, {}}, {{{word, 0.4}}, {}}, {{{word, 0.01}}, {}}, gone};
      for (std::int64_t seed = 0; seed < 40; ++seed) {
        const std::vector<std::int64_t> members =
            Mapping::random(2 + seed % 7, platform, static_cast<std::uint64_t>(seed)).devices;
        if (*std::ranges::max_element(members) >= topology.devices()) continue;
        double before = 0.0;
        for (const LinkFaults& one : faults) {
          const FaultyLinks faulty(one, topology, platform);
          Footprint footprint = topology.ring_footprint(members, 0);
          faulty.reroute(footprint);
          double seconds = 0.0;
          for (const LinkShare& entry : footprint) {
            seconds = std::max(seconds, entry.share / faulty.bound(entry.link));
          }
          EXPECT_GE(seconds, before * (1.0 - 1e-12)) << machine << ' ' << word << ", seed " << seed;
          compared += seconds > before ? 1 : 0;
          before = seconds;
        }
      }
    }
  }
  EXPECT_GT(compared, 100);
}

// Two faults of a dragonfly do the same in either order, or are refused in either order.
TEST(LinkFaults, OfAPairDoTheSameInEitherOrder) {
  const Platform platform = read_platform(path_of_machine("dragonfly"));
  const Topology topology(platform, 40);
  const std::vector<std::string> of_pairs{"nic:0.0",    "nic:0.1",    "local:0.0-1", "local:0.1-2",
                                          "global:0-1", "global:1-2", "global:1-0"};
  for (const std::string& one : of_pairs) {
    for (const std::string& other : of_pairs) {
      for (const bool fail : {false, true}) {
        const auto faults = [&](const std::string& first, const std::string& second) {
          if (fail) return LinkFaults{{}, {{first, 1}, {second, 1}}};
          return LinkFaults{
              {{first, first == one ? 0.5 : 0.25}, {second, first == one ? 0.25 : 0.5}}, {}};
        };
        SCOPED_TRACE(one + " and " + other);
        const bool sound = said_to_faults(faults(one, other), topology, platform) == "accepted";
        EXPECT_EQ(said_to_faults(faults(other, one), topology, platform) == "accepted", sound);
        EXPECT_TRUE(sound || one == other || one.substr(0, 6) == other.substr(0, 6) ||
                    one.substr(0, 4) == other.substr(0, 4));
        if (!sound || one == other) continue;
        const FaultyLinks there(faults(one, other), topology, platform);
        const FaultyLinks back(faults(other, one), topology, platform);
        for (std::int32_t link = 0; link < topology.link_count(); ++link) {
          EXPECT_EQ(there.capacity(link), back.capacity(link)) << topology.link_name(link);
        }
      }
    }
  }
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

  point.what_ifs.slow_devices = {0, {8, 38}, 0.25, 0.0, {}};
  const std::vector<double> listed = compute_factors(point, mapping);
  point.what_ifs.slow_devices = {3, {}, 0.5, 0.0, {}};
  const std::vector<double> counted = compute_factors(point, mapping);
  point.what_ifs.slow_devices = {0, {12}, 0.5, 0.0, {}};
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

// What is told to be idle would change the algorithm of no collective.
TEST(Conditions, IdleTuningsAreTold) {
  const Platform platform = read_platform(path_of_machine("dragonfly"));
  const auto ways = [&](const Point& point) {
    std::vector<CollectiveAlgorithm> all;
    for (const TimedCollective& one : lower(point, platform).collectives)
      all.push_back(one.algorithm);
    return all;
  };
  int idle = 0, changing = 0;
  for (const ProcessGrid& grid : grids()) {
    const Point plain = job("dragonfly", grid);
    if (find_misfit(plain.model, grid, plain.global_batch, plain.options) != Misfit::none) continue;
    for (const std::string kind : {"", "all-gather:", "reduce-scatter:", "all-reduce:"}) {
      for (const std::string algorithm : {"auto", "ring", "tree", "recursive", "hierarchical"}) {
        Point point = plain;
        point.what_ifs.collective = collective_tuning(kind + algorithm);
        const std::string why = idle_tuning(point, platform);
        SCOPED_TRACE(grid.str() + " " + kind + algorithm);
        if (algorithm == "auto") {
          EXPECT_EQ(why, "");
        }
        // Gathers and scatters are rings anyway, and all-reduces within a node.
        const bool ring_anyway =
            kind == "all-gather:" || kind == "reduce-scatter:" || grid.size() <= 2;
        if (algorithm == "ring" && ring_anyway) {
          EXPECT_NE(why, "");
        }
        if (why.empty()) {
          changing += ways(point) == ways(plain) ? 0 : 1;
          continue;
        }
        ++idle;
        EXPECT_EQ(ways(point), ways(plain));
        EXPECT_THAT(why, ::testing::HasSubstr("'" + kind + algorithm + "' cannot take effect"));
      }
    }
  }
  EXPECT_GT(idle, 20);
  EXPECT_GT(changing, 10);
}

}  // namespace
}  // namespace fourfold::tests
