// Machines drawn at random, small and odd: uneven NICs, links beside a switch, groups that are not
// full, tapers, rails, rings of two. For tests that hold whatever the numbers are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "platforms/platform.hpp"

namespace fourfold::tests {

// std::mt19937 gives the same numbers everywhere; the distributions of the library do not.
class MachineDraw {
 public:
  explicit MachineDraw(unsigned seed) : random_(seed) {}

  Platform machine(int number) {
    Platform platform;
    platform.name = "drawn-" + std::to_string(number);
    platform.title = "drawn";
    platform.node = node();
    const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
    switch (number % 4) {
      case 0:
        platform.network = dragonfly(platform.nodes);
        break;
      case 1:
        platform.network = cells(platform.nodes);
        break;
      case 2:
        platform.network = tree(nics, platform.nodes);
        break;
      default:
        platform.network = torus(platform.nodes);
    }
    platform.nodes = std::max<std::int64_t>(1, platform.nodes - below(3));
    return platform;
  }

  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + below(most - least + 1);
  }

  Node node() {
    Node node;
    node.devices = static_cast<int>(between(1, 6));
    const bool switched = below(2) == 0;
    if (switched) node.switch_port = gigabytes(between(20, 60));
    for (int device = 1; device < node.devices; ++device) {
      if (switched && below(3) > 0) continue;
      const int other = static_cast<int>(below(device));
      node.links.push_back({other, device, gigabytes(between(5, 90)), "tree"});
    }
    for (std::int64_t more = below(4); more > 0 && node.devices > 2; --more) {
      const int a = static_cast<int>(below(node.devices));
      const int b = static_cast<int>((a + between(1, node.devices - 1)) % node.devices);
      node.links.push_back({a, b, gigabytes(between(5, 90)), "across"});
    }
    std::vector<int> devices(static_cast<std::size_t>(node.devices));
    std::iota(devices.begin(), devices.end(), 0);
    for (std::size_t i = devices.size(); i > 1; --i) {
      std::swap(devices[i - 1], devices[static_cast<std::size_t>(below(std::int64_t(i)))]);
    }
    node.nics.resize(static_cast<std::size_t>(between(1, node.devices)));
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const std::size_t nic = i < node.nics.size()
                                  ? i
                                  : static_cast<std::size_t>(below(std::int64_t(node.nics.size())));
      node.nics[nic].devices.push_back(devices[i]);
    }
    for (Nic& nic : node.nics) nic.bandwidth = gigabytes(between(8, 30));
    return node;
  }

 private:
  static BytesPerSecond gigabytes(std::int64_t rate) { return {1e9 * static_cast<double>(rate)}; }

  Network dragonfly(std::int64_t& nodes) {
    DragonflyNetwork network;
    network.groups = between(1, 6);
    network.switches_per_group = between(1, 7);
    network.nodes_per_group = between(1, 5);
    network.links_per_group_pair = between(1, 5);
    network.link_bandwidth = gigabytes(between(5, 30));
    network.global_link_bandwidth = gigabytes(between(5, 30));
    network.local_detours = below(6);
    network.global_detours = below(5);
    nodes = network.groups * network.nodes_per_group;
    return network;
  }

  Network cells(std::int64_t& nodes) {
    DragonflyPlusNetwork network;
    network.cells = between(1, 5);
    network.nodes_per_cell = between(1, 6);
    network.leaves_per_cell = between(1, network.nodes_per_cell);
    network.uplinks_per_leaf = between(1, 4);
    network.links_per_cell_pair = between(1, 4);
    network.link_bandwidth = gigabytes(between(5, 30));
    network.global_link_bandwidth = gigabytes(between(5, 30));
    network.global_detours = below(5);
    nodes = network.cells * network.nodes_per_cell;
    return network;
  }

  Network tree(std::int64_t nics, std::int64_t& nodes) {
    FatTreeNetwork network;
    network.link_bandwidth = gigabytes(between(5, 30));
    const std::int64_t tiers = between(1, 4);
    nodes = 1;
    for (std::int64_t tier = 0; tier < tiers; ++tier) {
      const std::int64_t members = between(1, 3);
      const double taper = tier + 1 < tiers ? 0.5 * static_cast<double>(between(1, 6)) : 1.0;
      network.tiers.push_back({members, taper});
      nodes *= members;
    }
    if (tiers > 1) {
      do network.rails = between(1, nics);
      while (nics % network.rails != 0);
    }
    return network;
  }

  Network torus(std::int64_t& nodes) {
    TorusNetwork network;
    network.link_bandwidth = gigabytes(between(5, 30));
    nodes = 1;
    for (std::int64_t dimensions = between(1, 3); dimensions > 0; --dimensions) {
      network.extents.push_back(between(2, 5 - dimensions / 2));
      nodes *= network.extents.back();
    }
    return network;
  }

  std::mt19937 random_;
};

}  // namespace fourfold::tests
