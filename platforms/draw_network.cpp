// One picture per kind of network, with what each level of it can carry worked out.
#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "platforms/draw.hpp"

namespace fourfold {
namespace {

constexpr double giga = 1e9;
constexpr double tera = 1e12;

std::string picture(const Platform& platform, const DragonflyNetwork& network) {
  const auto ports = network.nodes_per_group * static_cast<std::int64_t>(platform.node.nics.size());
  const double per_switch =
      static_cast<double>(ports) / static_cast<double>(network.switches_per_group);
  const double injection = static_cast<double>(ports) * network.link_bandwidth.value;
  const double egress = static_cast<double>((network.groups - 1) * network.links_per_group_pair) *
                        network.global_link_bandwidth.value;
  const std::string joint = fmt::format("{} x {:g} GB/s", network.links_per_group_pair,
                                        network.global_link_bandwidth.value / giga);
  const std::string others =
      network.groups == 2 ? "group 1" : fmt::format("groups 1 .. {}", network.groups - 1);
  const auto row = [](const std::string& inside, const std::string& between,
                      const std::string& beside) {
    return fmt::format("  | {:<42} |{:^20}| {:<16} |\n", inside, between, beside);
  };
  const std::string edge = fmt::format("  +{:-<44}+{:20}+{:-<18}+\n", "", "", "");

  std::string text = fmt::format("network: dragonfly of {} groups, every pair joined by {}\n\n",
                                 network.groups, joint);
  text += edge;
  text += row("group 0", "", others);
  text +=
      row(fmt::format("{} nodes, {} NIC ports", network.nodes_per_group, ports), "", "the same,");
  text += row(fmt::format("   {:g} ports on each switch", per_switch), joint, "each joined");
  text += row(fmt::format("{} switches", network.switches_per_group),
              "====================", "with all the");
  text += row(fmt::format("   every two joined by a link of {:g} GB/s",
                          network.link_bandwidth.value / giga),
              "to each group", "others");
  text += edge;
  text += fmt::format("\n  into a group's switches  {:>6} x {:g} GB/s = {:.1f} TB/s\n", ports,
                      network.link_bandwidth.value / giga, injection / tera);
  text += fmt::format(
      "  out to other groups      {:>6} x {:g} GB/s = {:.1f} TB/s, a taper of {:.0f} %\n",
      (network.groups - 1) * network.links_per_group_pair,
      network.global_link_bandwidth.value / giga, egress / tera, 100.0 * egress / injection);
  text += fmt::format("  a message takes its shortest path and {} detours in a group, {} between\n",
                      network.local_detours, network.global_detours);
  return text;
}

std::string picture(const Platform& platform, const DragonflyPlusNetwork& network) {
  const auto ports = network.nodes_per_cell * static_cast<std::int64_t>(platform.node.nics.size());
  const double link = network.link_bandwidth.value / giga;
  const double global = network.global_link_bandwidth.value / giga;
  const std::int64_t up = network.leaves_per_cell * network.uplinks_per_leaf;
  const std::int64_t out = (network.cells - 1) * network.links_per_cell_pair;
  double injection = 0.0;
  for (const Nic& nic : platform.node.nics) injection += nic.bandwidth.value;
  injection *= static_cast<double>(network.nodes_per_cell);
  const double egress = static_cast<double>(out) * global * giga;
  return fmt::format(
      "network: dragonfly+ of {} cells, every pair joined by {} x {:g} GB/s\n\n"
      "  cell 0                                          the other cells\n"
      "  [spines] ====================================== [spines]   each joined with all others\n"
      "     |  {} links up from each leaf\n"
      "  [{} leaves]\n"
      "     |  {} NIC ports\n"
      "  [{} nodes]\n\n"
      "  into a cell's leaves  {:>6} ports          = {:.1f} TB/s\n"
      "  from leaves to spines {:>6} x {:g} GB/s = {:.1f} TB/s\n"
      "  out to other cells    {:>6} x {:g} GB/s = {:.1f} TB/s, a taper of {:.0f} %\n"
      "  a message between cells takes its shortest path and {} detours\n",
      network.cells, network.links_per_cell_pair, global, network.uplinks_per_leaf,
      network.leaves_per_cell, ports, network.nodes_per_cell, ports, injection / tera, up, link,
      static_cast<double>(up) * link * giga / tera, out, global, egress / tera,
      100.0 * egress / injection, network.global_detours);
}

std::string picture(const Platform& platform, const CrossbarNetwork& network) {
  return fmt::format(
      "network: crossbar of {} nodes, nothing inside it contends\n\n"
      "  [node 0] ----+\n"
      "  [node 1] ----+==== crossbar       {}\n"
      "      ...      |\n"
      "  [node {}] ---+\n",
      platform.nodes,
      network.private_port_per_lane ? "each lane of a device has its own port"
                                    : "the lanes of a device share its port",
      platform.nodes - 1);
}

std::string part_name(const FatTreeNetwork& network, std::size_t tier) {
  constexpr const char* names[] = {"leaf", "pod", "zone"};
  if (tier + 1 == network.tiers.size()) return "all";
  return tier == 0 && network.rails > 1 ? "unit" : names[tier];
}

// From the root down to the nodes, a line per tier with what its parts can send up.
std::string picture(const Platform& platform, const FatTreeNetwork& network) {
  const auto nics = static_cast<std::int64_t>(platform.node.nics.size());
  std::vector<double> up = {network.link_bandwidth.value * static_cast<double>(nics)};
  for (const FatTreeTier& tier : network.tiers) {
    up.push_back(up.back() * static_cast<double>(tier.members) / tier.oversubscription);
  }
  std::string text =
      fmt::format("network: {} with {} tier{} of switches{}\n\n", kind_in_words(platform.network),
                  network.tiers.size(), network.tiers.size() == 1 ? "" : "s",
                  network.rails > 1 ? ", rail-optimised" : "");
  std::string indent = "  ";
  for (std::size_t tier = network.tiers.size(); tier-- > 0;) {
    const FatTreeTier& here = network.tiers[tier];
    const std::string below = tier == 0 ? "node" : part_name(network, tier - 1);
    text += fmt::format("{}[{}]  {} x {}", indent, part_name(network, tier), here.members, below);
    if (tier + 1 < network.tiers.size()) {
      text += fmt::format(", {:g} TB/s up: oversubscribed {:.3g} to 1", up[tier + 1] / tera,
                          here.oversubscription);
    }
    text += fmt::format("\n{}  |\n", indent);
    indent += "  ";
  }
  text += fmt::format("{}[node] {} NICs x {:g} GB/s\n", indent, nics,
                      network.link_bandwidth.value / giga);
  if (network.rails > 1) {
    text += fmt::format("\n  a unit has {} leaves, and NIC i of all its nodes is on leaf i{}\n",
                        network.rails, network.rails == nics ? "" : " modulo that");
  }
  return text + "\n  parallel links are one bundle: a message has one path, up and down again\n";
}

std::string picture(const Platform& platform, const TorusNetwork& network) {
  const double rate = network.link_bandwidth.value / giga;
  return fmt::format(
      "network: torus of {} routers, a node each\n\n"
      "   |        |        |\n"
      "  [0] ---- [1] ---- [2] ---- ..      {} links of {:g} GB/s and direction at each router\n"
      "   |        |        |               the ends of every row are joined\n"
      "  [{}] ---- ..\n"
      "   |                                 a message corrects one coordinate after the other\n"
      "  {} nodes are numbered along the first dimension first\n",
      fmt::join(network.extents, " x "), 2 * network.extents.size(), rate, network.extents.front(),
      platform.nodes);
}

}  // namespace

std::string draw_network(const Platform& platform) {
  return std::visit([&](const auto& network) { return picture(platform, network); },
                    platform.network);
}

}  // namespace fourfold
