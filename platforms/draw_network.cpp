// A dragonfly is drawn as one group in detail and the others beside it, with the taper worked out.
#include <fmt/format.h>

#include "platforms/draw.hpp"

namespace fourfold {
namespace {

constexpr double giga = 1e9;
constexpr double tera = 1e12;

std::string dragonfly(const Platform& platform) {
  const Network& network = platform.network;
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

std::string crossbar(const Platform& platform) {
  return fmt::format(
      "network: crossbar of {} nodes, nothing inside it contends\n\n"
      "  [node 0] ----+\n"
      "  [node 1] ----+==== crossbar       {}\n"
      "      ...      |\n"
      "  [node {}] ---+\n",
      platform.nodes,
      platform.network.private_port_per_lane ? "each lane of a device has its own port"
                                             : "the lanes of a device share its port",
      platform.nodes - 1);
}

}  // namespace

std::string draw_network(const Platform& platform) {
  return platform.network.kind == NetworkKind::dragonfly ? dragonfly(platform) : crossbar(platform);
}

}  // namespace fourfold
