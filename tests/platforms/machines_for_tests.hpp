// Platforms built by hand for the tests of topology, rings and rates: no files are read.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "platforms/network/topology.hpp"
#include "platforms/platform.hpp"

namespace fourfold::tests {

constexpr double giga = 1e9;

// A node of `devices` devices, all pairs joined at `width` GB/s, one 25 GB/s NIC each.
inline Node mesh_node(int devices, double width) {
  Node node;
  node.devices = devices;
  for (int a = 0; a < devices; ++a) {
    node.nics.push_back({{25 * giga}, {a}});
    for (int b = a + 1; b < devices; ++b) node.links.push_back({a, b, {width * giga}, "mesh"});
  }
  return node;
}

// The MI250X node with the bandwidths of kernel copies (machines.md A.3).
inline Node mi250x_node() {
  Node node;
  node.devices = 8;
  const auto add = [&](double width, std::vector<std::pair<int, int>> pairs) {
    for (auto [a, b] : pairs) node.links.push_back({a, b, {width * giga}, "if"});
  };
  add(148, {{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  add(76, {{0, 6}, {2, 4}});
  add(38, {{0, 2}, {1, 3}, {1, 5}, {3, 7}, {4, 6}, {5, 7}});
  for (int nic = 0; nic < 4; ++nic) node.nics.push_back({{25 * giga}, {2 * nic, 2 * nic + 1}});
  return node;
}

struct Detours {
  std::int64_t local = 0;
  std::int64_t global = 0;
};

inline Platform dragonfly(std::string name, Node node, std::int64_t groups, Detours detours) {
  Platform platform;
  platform.name = std::move(name);
  platform.node = std::move(node);
  const DragonflyNetwork network{groups,      32,          128,           4,
                                 {25 * giga}, {25 * giga}, detours.local, detours.global};
  platform.network = network;
  platform.nodes = groups * network.nodes_per_group;
  return platform;
}

inline Platform frontier(Detours detours = {}) {
  return dragonfly("frontier", mi250x_node(), 74, detours);
}

inline Platform perlmutter(Detours detours = {}) {
  return dragonfly("perlmutter", mesh_node(4, 100), 24, detours);
}

// The numbers of a platform that is one, to read or to change.
inline DragonflyNetwork& dragonfly_of(Platform& platform) {
  return std::get<DragonflyNetwork>(platform.network);
}

// `devices` behind a switch, one 25 GB/s NIC each.
inline Node switched_node(int devices, double port) {
  Node node;
  node.devices = devices;
  node.switch_port = BytesPerSecond{port * giga};
  for (int a = 0; a < devices; ++a) node.nics.push_back({{25 * giga}, {a}});
  return node;
}

// Cells of 16 nodes on 4 leaves; 16 NICs on a leaf that has `uplinks` links up.
inline Platform dragonfly_plus(std::int64_t cells, std::int64_t uplinks, std::int64_t detours) {
  Platform platform;
  platform.name = "dragonfly+";
  platform.node = mesh_node(4, 100);
  platform.nodes = cells * 16;
  platform.network =
      DragonflyPlusNetwork{cells, 4, 16, uplinks, 8, {25 * giga}, {25 * giga}, detours};
  return platform;
}

inline Platform fat_tree(Node node, std::int64_t rails, std::vector<FatTreeTier> tiers) {
  Platform platform;
  platform.name = "fat tree";
  platform.node = std::move(node);
  platform.nodes = 1;
  for (const FatTreeTier& tier : tiers) platform.nodes *= tier.members;
  platform.network = FatTreeNetwork{{25 * giga}, rails, std::move(tiers)};
  return platform;
}

inline Platform torus(Node node, std::vector<std::int64_t> extents) {
  Platform platform;
  platform.name = "torus";
  platform.node = std::move(node);
  platform.nodes = 1;
  for (std::int64_t extent : extents) platform.nodes *= extent;
  platform.network = TorusNetwork{std::move(extents), {25 * giga}};
  return platform;
}

enum class Ports { shared, private_per_channel };

inline Platform crossbar(int devices_per_node, Ports ports) {
  Platform platform;
  platform.name = "crossbar";
  platform.nodes = 4096;
  platform.node.devices = devices_per_node;
  platform.node.nics.push_back({{25 * giga}, {}});
  platform.network = CrossbarNetwork{ports == Ports::private_per_channel};
  return platform;
}

// 130 nodes of Frontier: NICs of 25 GB/s, four cables of 25 GB/s between two groups.
class OnFrontier : public ::testing::Test {
 protected:
  std::int32_t link(const std::string& name) const {
    for (std::int32_t i = 0; i < topology.link_count(); ++i) {
      if (topology.link_name(i) == name) return i;
    }
    ADD_FAILURE() << name;
    return 0;
  }

  Platform platform = frontier();
  Topology topology{platform, 130};
};

}  // namespace fourfold::tests
