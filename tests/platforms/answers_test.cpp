// Every machine that comes along: its numbers are those of its file, each in its unit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "platforms/operation.hpp"
#include "platforms/vector_rates.hpp"

namespace fourfold::tests {
namespace {

constexpr const char* measured_across = "measured over nodes, devices ";
constexpr const char* measured_in_node = "measured in a node, devices ";

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
    if (const auto rate = fp32_products(platform)) add("fp32", rate->value);
  }
  const std::map<std::string, double>& all() const { return all_; }

 private:
  template <typename Number>
  void add(const std::string& name, Number number) {
    EXPECT_TRUE(all_.emplace(name, static_cast<double>(number)).second) << name;
  }
  void of(const MachineOperation& operation) {
    if (operation.node_power) add("node power", operation.node_power->value);
    if (operation.node_failures) add("node failures", operation.node_failures->value);
    if (operation.file_system) add("file system", operation.file_system->value);
  }
  void of(const Processor& p) {
    add("advertised", p.advertised_peak.value);
    add("empirical", p.empirical_peak.value);
    for (const GemmPoint& point : p.gemm_fp8) {
      add(fmt::format("gemm of 8 bits {}", point.size), point.rate.value);
    }
    if (p.mxfp8_over_fp8) add("mxfp8 over fp8", *p.mxfp8_over_fp8);
    for (const GemmPoint& point : p.gemm) {
      add(fmt::format("gemm {}", point.size), point.rate.value);
    }
    add("nt", p.layout_penalty_nt);
    add("tn", p.layout_penalty_tn);
    add("attention forward", p.attention_forward.value);
    add("attention backward", p.attention_backward.value);
    for (const AttentionPoint& point : p.attention) {
      add(fmt::format("attention forward {}", point.sequence), point.forward.value);
      add(fmt::format("attention backward {}", point.sequence), point.backward.value);
    }
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
    if (p.repetition_spread > 0.0) add("repetition spread", p.repetition_spread);
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
    if (l.cliff) {
      add("cliff from", l.cliff->from.value);
      add("cliff to", l.cliff->to.value);
      add("cliff", l.cliff->per_member.value);
    }
    for (const MeasuredCollectives& group : l.measured) {
      for (const MeasuredCollectives::Row& row : group.rows) {
        add(fmt::format("{}{} of {}: {}", group.over_nodes() ? measured_across : measured_in_node,
                        group.devices, name(group.kind), group.members) +
                fmt::format(", {}", row.bytes),
            row.time.value);
      }
    }
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

// What a number is worth whose key ends in this unit.
double unit_of(const std::string& key) {
  if (key.starts_with("operation.")) return 1.0;  // as written
  for (const auto& [unit, worth] : {std::pair{"_us", 1e-6},
                                    {"_GBps", 1e9},
                                    {"_Tflops", 1e12},
                                    {"_GB", 1e9},
                                    {"_KiB", 1024.0}}) {
    if (key.ends_with(unit)) return worth;
  }
  return 1.0;
}

// Whether it is the time of a collective over nodes whose plateau stands at this key.
bool follows(const std::string& key, const std::string& name) {
  const std::string list = "library.across.";
  if (!key.starts_with(list)) return false;
  const std::string devices = key.substr(list.size(), key.rfind('.') - list.size());
  return name.starts_with(measured_across + devices + " of ");
}

// Every number is what the file says in the unit of its key, and half of it changes that number and
// no other, but for what was measured over nodes: its bytes take longer at half a plateau, at most
// twice as long, as its latency stays.
TEST(Machines, AFactorOnAFactReachesItsNumberAlone) {
  for (const std::string& machine : known_platforms()) {
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
        if (follows(fact.key, name)) {
          EXPECT_GT(after.at(name), value) << machine << ' ' << name;
          EXPECT_LE(after.at(name), 2.0 * value * (1.0 + 1e-12)) << machine << ' ' << name;
          continue;
        }
        if (after.at(name) == value) continue;
        changed.push_back(name);
        EXPECT_DOUBLE_EQ(after.at(name), value / 2) << machine << ' ' << fact.key;
        EXPECT_NEAR(value, fact.value * unit_of(fact.key), 1e-12 * value)
            << machine << ' ' << fact.key;
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

}  // namespace
}  // namespace fourfold::tests
