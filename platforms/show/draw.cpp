// A node of four NICs is drawn as a square, the devices of NIC k on the diagonal of its corner; any
// other as rows. One picture per kind of network; see draw.hpp.
#include "platforms/show/draw.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "platforms/show/canvas.hpp"

namespace fourfold::inline platforms::inline show {
namespace {

constexpr double giga = 1e9;

constexpr int left_edge = 14;  // column of the outer left corners: room for "  NIC 0 --["
constexpr int inset = 4;       // rows between devices on a diagonal; columns are twice that
constexpr int core = 8;        // rows between the innermost corners

std::string rate(BytesPerSecond bandwidth) {
  return fmt::format("{:g}", bandwidth.value / giga);
}

std::string numbers(const std::vector<int>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

std::size_t most_devices_on_a_nic(const Node& node) {
  std::size_t most = 0;
  for (const Nic& nic : node.nics) most = std::max(most, nic.devices.size());
  return most;
}

// Where each device stands, on a square whose corners are the NICs 0 1 above and 2 3 below.
std::vector<Spot> places(const Node& node) {
  const int layers = static_cast<int>(most_devices_on_a_nic(node));
  const int side = core + 2 * inset * (layers - 1);
  std::vector<Spot> spots(static_cast<std::size_t>(node.devices));
  for (std::size_t corner = 0; corner < node.nics.size(); ++corner) {
    const std::vector<int>& devices = node.nics[corner].devices;
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const int depth = inset * static_cast<int>(devices.size() - 1 - i);
      const int row = corner < 2 ? depth : side - depth;
      const int column = left_edge + 2 * (corner % 2 == 0 ? depth : side - depth);
      spots[static_cast<std::size_t>(devices[i])] = {column, row};
    }
  }
  return spots;
}

// A label beside its line: in the middle of a straight one, near the first end of a slanted one,
// where the lines that cross in the centre are apart.
Spot label_place(Spot from, Spot to) {
  if (from.row == to.row) return {(from.column + to.column) / 2 - 2, from.row};
  if (from.column == to.column) return {from.column - 1, (from.row + to.row) / 2};
  const bool short_line = std::abs(to.row - from.row) <= inset;
  const int row = short_line ? (from.row + to.row) / 2 : from.row + (to.row - from.row) / 4;
  const int column =
      from.column + (to.column - from.column) * (row - from.row) / (to.row - from.row);
  return {column + 2, row};
}

std::string square(const Node& node) {
  const std::vector<Spot> spots = places(node);
  int right = 0;
  int bottom = 0;
  for (const Spot spot : spots) {
    right = std::max(right, spot.column);
    bottom = std::max(bottom, spot.row);
  }
  Canvas canvas(right + left_edge, bottom + 1);
  for (const InnerLink& link : node.links) {
    canvas.line(spots[static_cast<std::size_t>(link.a)], spots[static_cast<std::size_t>(link.b)]);
  }
  for (const InnerLink& link : node.links) {
    const Spot from = spots[static_cast<std::size_t>(link.a)];
    const Spot to = spots[static_cast<std::size_t>(link.b)];
    const Spot at = label_place(from, to);
    const std::string label = rate(link.bandwidth);
    canvas.write(at, from.row == to.row ? fmt::format(" {} ", label) : label);
  }
  for (std::size_t device = 0; device < spots.size(); ++device) {
    canvas.write({spots[device].column - 1, spots[device].row}, fmt::format("[{}]", device));
  }
  for (std::size_t corner = 0; corner < node.nics.size(); ++corner) {
    const Spot outer = spots[static_cast<std::size_t>(node.nics[corner].devices.back())];
    const std::string name = fmt::format("NIC {}", corner);
    if (corner % 2 == 0) {
      canvas.write({2, outer.row}, name + " ----");
    } else {
      canvas.write({outer.column + 2, outer.row}, "---- " + name);
    }
  }
  return canvas.text();
}

std::string matrix(const Node& node) {
  std::string text = "  GB/s ";
  for (int b = 0; b < node.devices; ++b) text += fmt::format("{:>6}", b);
  text += "\n";
  for (int a = 0; a < node.devices; ++a) {
    text += fmt::format("  {:>4} ", a);
    for (int b = 0; b < node.devices; ++b) {
      const auto link = std::find_if(node.links.begin(), node.links.end(), [&](const InnerLink& l) {
        return std::minmax(l.a, l.b) == std::minmax(a, b);
      });
      text += fmt::format("{:>6}", link == node.links.end() ? "." : rate(link->bandwidth));
    }
    text += "\n";
  }
  return text;
}

// Devices under a switch that joins them all.
std::string star(const Node& node) {
  const int shown = node.devices > 12 ? 8 : node.devices;  // on a line of 100
  std::string devices;
  std::string bars;
  for (int device = 0; device < shown; ++device) {
    const std::string box = fmt::format("[{}]", device);
    devices += fmt::format("{:<6}", box);
    bars += fmt::format("{:<6}", " |");
  }
  for (std::string* row : {&devices, &bars}) row->erase(row->find_last_not_of(' ') + 1);
  return fmt::format("  {:=<{}}  switch, {} GB/s for each device in and out\n  {}\n  {}{}\n\n", "",
                     6 * shown - 2, rate(*node.switch_port), bars, devices,
                     node.devices > shown ? " .." : "");
}

// "  148 GB/s in-package x4: 0-1 2-3 4-5 6-7", an entry per kind and rate, in order of appearance;
// a line is broken where it would pass the width.
std::string link_legend(const Node& node) {
  constexpr std::size_t width = 100;
  struct Entry {
    std::string kind;
    std::vector<std::string> edges;
  };
  std::vector<Entry> entries;
  for (const InnerLink& link : node.links) {
    const std::string kind = fmt::format("  {:>6} GB/s {}:", rate(link.bandwidth), link.kind);
    auto entry = std::find_if(entries.begin(), entries.end(),
                              [&](const Entry& known) { return known.kind == kind; });
    if (entry == entries.end()) entry = entries.insert(entries.end(), {kind, {}});
    entry->edges.push_back(fmt::format(" {}-{}", link.a, link.b));
  }
  std::string text;
  for (const Entry& entry : entries) {
    std::string line = entry.kind;
    for (const std::string& edge : entry.edges) {
      if (line.size() + edge.size() > width) {
        text += line + "\n";
        line.assign(entry.kind.size(), ' ');
      }
      line += edge;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string draw_node(const Node& node) {
  std::string text =
      fmt::format("node: {} device{}, {} NIC{}; GB/s per direction\n\n", node.devices,
                  node.devices == 1 ? "" : "s", node.nics.size(), node.nics.size() == 1 ? "" : "s");
  const bool fits_a_square = node.nics.size() == 4 && most_devices_on_a_nic(node) <= 2;
  if (fits_a_square) {
    text += square(node) + "\n";
  } else if (!node.links.empty() && node.devices <= 15) {
    text += matrix(node) + "\n";
  }
  if (node.switch_port) text += star(node);
  text += link_legend(node);
  for (std::size_t i = 0; i < node.nics.size(); ++i) {
    const Nic& nic = node.nics[i];
    text += fmt::format("  {:>6} GB/s NIC {} of device{} {}\n", rate(nic.bandwidth), i,
                        nic.devices.size() == 1 ? "" : "s", numbers(nic.devices));
  }
  return text;
}

namespace {

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

}  // namespace fourfold::inline platforms::inline show
