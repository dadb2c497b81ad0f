// Every machine that comes along, as numbers after reading and scaling, as rates of rings, as
// routes and as pictures: a change that moves one shows here, whether it was meant or not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "platforms/mapping.hpp"
#include "platforms/network/axis_rate.hpp"
#include "platforms/network/topology.hpp"
#include "platforms/operation.hpp"
#include "platforms/show/draw.hpp"
#include "platforms/show/show.hpp"
#include "platforms/show/simgrid_xml.hpp"
#include "tests/golden.hpp"

namespace fourfold {
namespace {

const std::vector<std::string> machines{"alps",     "aurora",   "crossbar",      "crossbar-shared",
                                        "dgx-h100", "frontier", "jean-zay",      "juwels-booster",
                                        "leonardo", "lumi",     "meta-24k-h100", "perlmutter",
                                        "polaris",  "selene",   "summit",        "torus"};

// All numbers of a platform, by what they are.
class Numbers {
 public:
  explicit Numbers(const Platform& platform) {
    add("nodes", platform.nodes);
    of(platform.processor);
    of(platform.node);
    std::visit([this](const auto& network) { of(network); }, platform.network);
    of(platform.library);
    add("dispatch", platform.software.dispatch.value);
    of(operation_of(platform));
  }
  const std::map<std::string, double>& all() const { return all_; }

 private:
  template <typename Number>
  void add(const std::string& name, Number number) {
    EXPECT_TRUE(all_.emplace(name, static_cast<double>(number)).second) << name;
  }
  void of(const Operation& operation) {
    if (operation.node_power) add("node power", operation.node_power->value);
    if (operation.node_failures) add("node failures", operation.node_failures->value);
    if (operation.file_system) add("file system", operation.file_system->value);
  }
  void of(const Processor& p) {
    add("advertised", p.advertised_peak.value);
    add("empirical", p.empirical_peak.value);
    for (const GemmPoint& point : p.gemm) {
      add(fmt::format("gemm {}", point.size), point.rate.value);
    }
    add("nt", p.layout_penalty_nt);
    add("tn", p.layout_penalty_tn);
    add("attention forward", p.attention_forward.value);
    add("attention backward", p.attention_backward.value);
    if (p.flash_1) add("flash 1", *p.flash_1);
    if (p.flash_3) add("flash 3", *p.flash_3);
    if (p.tiles) {
      add("units", static_cast<double>(p.tiles->units));
      add("tile", static_cast<double>(p.tiles->edge));
      add("product start", p.tiles->start_up);
    }
    add("memory", p.memory.value);
    add("usable", p.usable_memory);
    add("memory bandwidth", p.memory_bandwidth.value);
    if (p.host_link) add("host link", p.host_link->value);
    add("launch", p.launch_overhead.value);
    add("interference", p.interference);
    if (p.spread > 0.0) add("spread", p.spread);
  }
  void of(const Node& node) {
    add("devices", node.devices);
    for (const InnerLink& link : node.links) {
      add(fmt::format("link {}-{} {}", link.a, link.b, link.kind), link.bandwidth.value);
    }
    if (node.switch_port) add("switch port", node.switch_port->value);
    for (std::size_t i = 0; i < node.nics.size(); ++i) {
      add(fmt::format("nic {} of {}", i, fmt::join(node.nics[i].devices, " ")),
          node.nics[i].bandwidth.value);
    }
  }
  void of(const CrossbarNetwork& network) { add("private", network.private_port_per_lane); }
  void of(const DragonflyNetwork& n) {
    add("groups", n.groups);
    add("switches", n.switches_per_group);
    add("nodes per group", n.nodes_per_group);
    add("links per pair", n.links_per_group_pair);
    add("local link", n.link_bandwidth.value);
    add("global link", n.global_link_bandwidth.value);
    add("local detours", n.local_detours);
    add("global detours", n.global_detours);
  }
  void of(const DragonflyPlusNetwork& n) {
    add("cells", n.cells);
    add("leaves", n.leaves_per_cell);
    add("nodes per cell", n.nodes_per_cell);
    add("uplinks", n.uplinks_per_leaf);
    add("links per pair", n.links_per_cell_pair);
    add("local link", n.link_bandwidth.value);
    add("global link", n.global_link_bandwidth.value);
    add("global detours", n.global_detours);
  }
  void of(const FatTreeNetwork& n) {
    add("local link", n.link_bandwidth.value);
    add("rails", n.rails);
    for (std::size_t i = 0; i < n.tiers.size(); ++i) {
      add(fmt::format("members {}", i), n.tiers[i].members);
      add(fmt::format("oversubscription {}", i), n.tiers[i].oversubscription);
    }
  }
  void of(const TorusNetwork& n) {
    add("local link", n.link_bandwidth.value);
    for (std::size_t i = 0; i < n.extents.size(); ++i)
      add(fmt::format("dimension {}", i), n.extents[i]);
  }
  void of(const std::string& name, const Protocol& p) {
    add(name + " hop across", p.hop_across.value);
    add(name + " hop in node", p.hop_in_node.value);
    add(name + " fraction across", p.bandwidth_fraction_across);
    add(name + " fraction in node", p.bandwidth_fraction_in_node);
    add(name + " ring base", p.ring_base_factor);
    add(name + " exponent across", p.bandwidth_exponent_across);
    add(name + " tree hop", p.tree_hop_factor);
    add(name + " tree fraction", p.tree_bandwidth_fraction);
  }
  void of(const CollectiveLibrary& l) {
    add("base across", l.base_across.value);
    add("base in node", l.base_in_node.value);
    of("low latency", l.low_latency);
    of("simple", l.simple);
    add("overlap", l.overlap_exponent);
    add("library interference", l.interference);
    for (const Plateau& p : l.across)
      add(fmt::format("across {}", p.devices), p.bus_bandwidth.value);
    for (const Plateau& p : l.across_at_once) {
      add(fmt::format("across at once {}", p.devices), p.bus_bandwidth.value);
    }
    for (const Plateau& p : l.in_node) {
      add(fmt::format("in node {}", p.devices), p.bus_bandwidth.value);
    }
    for (const StridedPlateau& p : l.in_node_by_stride) {
      add(fmt::format("in node {} by {}", p.devices, p.stride), p.bus_bandwidth.value);
    }
  }

  std::map<std::string, double> all_;
};

TEST(Machines, AreReadAsTheGoldenNumbers) {
  std::string text;
  for (const std::string& machine : machines) {
    text += machine + '\n';
    const Numbers numbers(read_platform(machine));
    for (const auto& [name, value] : numbers.all()) {
      text += fmt::format("  {} {:.12g}\n", name, value);
    }
  }

  expect_golden("machines.txt", text);
}

// What a factor of two on one fact changes: numbers that have twice the value, and no others.
TEST(Machines, AFactorOnAFactReachesItsNumberAlone) {
  for (const std::string& machine : machines) {
    const Platform plain = read_platform(machine);
    const auto before = Numbers(plain).all();
    std::set<std::string> reached;
    for (const Fact& fact : plain.facts) {
      std::map<std::string, double> after;
      try {
        after = Numbers(read_platform(machine, {{fact.key, 0.5}})).all();
      } catch (const std::runtime_error&) {
        continue;  // half of it is no such number
      }
      std::vector<std::string> changed;
      for (const auto& [name, value] : before) {
        if (after.at(name) == value) continue;
        changed.push_back(name);
        EXPECT_DOUBLE_EQ(after.at(name), value / 2) << machine << ' ' << fact.key;
      }
      const bool between_groups =
          fact.key == "network.link_bandwidth_GBps" && before.contains("global link");
      // Links between groups are as fast as the others unless a file says otherwise.
      if (between_groups) {
        EXPECT_LE(changed.size(), 2U) << machine;
      } else if (fact.value != 0.0) {
        EXPECT_EQ(changed.size(), 1U) << machine << ' ' << fact.key;
      }
      for (const std::string& name : changed) {
        EXPECT_TRUE(reached.insert(name).second || name == "global link") << machine << ' ' << name;
      }
    }
  }
}

TEST(Machines, HaveTheGoldenPictures) {
  std::string text;
  for (const std::string& machine : machines) {
    Platform platform = read_platform(machine);
    text += "===== " + machine + '\n' + draw_node(platform.node) + '\n' + draw_network(platform);
    platform.facts.clear();
    std::istringstream lines(show_platform(platform));
    std::string line;
    for (int i = 0; i < 4 && std::getline(lines, line); ++i) text += line + '\n';
  }

  expect_golden("pictures.txt", text);
}

TEST(Machines, AreOneXmlFileEach) {
  for (const char* const machine : {"polaris", "selene", "torus"}) {
    const std::string xml = simgrid_xml(read_platform(machine), 10);

    if (std::string(machine) == "polaris") expect_golden("polaris_10.xml", xml);
    EXPECT_EQ(xml.find("&amp;amp;"), std::string::npos);
  }
}

TEST(Rates, OfRingsAreTheGoldenOnes) {
  std::string text;
  for (const std::string& machine : machines) {
    const Platform platform = read_platform(machine);
    const AxisRates rates(platform);
    for (std::int64_t stride : {1, 2, 3, 4, 6, 8, 12, 24, 32, 100, 128, 512, 1536}) {
      text += fmt::format("{} {}:", machine, stride);
      for (std::int64_t extent : {2, 3, 4, 6, 8, 12, 16, 40, 64, 128}) {
        for (std::int64_t blocks : {1, 3}) {
          const std::int64_t devices = stride * extent * blocks;
          if (devices > platform.devices()) continue;
          text += fmt::format(" {:.8g}", rates.rate(stride, extent, devices).value);
        }
      }
      text += '\n';
    }
  }

  expect_golden("ring_rates.txt", text);
}

std::string sums(const Topology& topology, const Footprint& footprint) {
  std::map<std::string, double> by_kind;
  double checksum = 0.0;
  for (const LinkShare& entry : footprint) {
    by_kind[name(topology.kind(entry.link))] += entry.share;
    checksum += entry.share * (1.0 + entry.link % 1009);
  }
  std::string text = fmt::format("{} {:.8g}", footprint.size(), checksum);
  for (const auto& [kind, share] : by_kind) text += fmt::format(" {} {:.8g}", kind, share);
  return text;
}

std::string links_of(const Topology& topology, std::int64_t from, std::int64_t to) {
  std::vector<std::int32_t> path;
  topology.minimal_route(from, to, path);
  std::string text;
  for (std::int32_t link : path) {
    text += fmt::format(" | {} ({}, {:.8g})", topology.link_name(link), topology.link_class(link),
                        topology.capacity(link).value);
  }
  return text;
}

TEST(Routes, OfMessagesAndRingsAreTheGoldenOnes) {
  std::string text;
  for (const std::string& machine : machines) {
    const Platform platform = read_platform(machine);
    const std::int64_t nodes = std::min<std::int64_t>(platform.nodes, 700);
    const Topology topology(platform, nodes);
    const std::int64_t devices = topology.devices();
    text += fmt::format("{}: {} links\n", machine, topology.link_count());
    for (std::int64_t i = 0; i < 12; ++i) {
      const std::int64_t from = i * 977 % devices;
      // In a node, beside it, and far away.
      const std::int64_t to = (from + (i % 3 == 0 ? 1 : i % 3 == 1 ? 17 : 2111 * i)) % devices;
      if (from == to) continue;
      Footprint path;
      topology.route(from, to, path);
      text += fmt::format("  {} -> {}: {}{}\n", from, to, sums(topology, path),
                          links_of(topology, from, to));
    }
    for (const auto& [first, stride, extent] :
         std::vector<std::array<std::int64_t, 3>>{{0, 1, 2},
                                                  {0, 1, 4},
                                                  {4, 1, 3},
                                                  {1, 2, 4},
                                                  {0, 1, 16},
                                                  {3, 4, 8},
                                                  {5, 8, 6},
                                                  {7, 48, 7},
                                                  {2, 130, 3}}) {
      std::vector<std::int64_t> members;
      for (std::int64_t i = 0; i < extent; ++i) {
        if (first + i * stride < devices) members.push_back(first + i * stride);
      }
      if (members.size() < 2) continue;
      text += fmt::format("  ring {} {} {}: {}\n", first, stride, extent,
                          sums(topology, topology.ring_footprint(members, 0)));
    }
  }

  expect_golden("routes.txt", text);
}

TEST(Placements, AreTheGoldenOnes) {
  std::string text;
  for (const std::string& machine : machines) {
    const Platform platform = read_platform(machine);
    const std::int64_t ranks = std::min<std::int64_t>(platform.devices(), 61);
    text += fmt::format("{} random {}\n", machine,
                        fmt::join(Mapping::random(ranks, platform, 3).devices, " "));
    try {
      text += fmt::format("{} spread {}\n", machine,
                          fmt::join(Mapping::spread(ranks, platform).devices, " "));
    } catch (const std::invalid_argument& error) {
      text += fmt::format("{}\n", error.what());
    }
  }

  expect_golden("placements.txt", text);
}

}  // namespace
}  // namespace fourfold
