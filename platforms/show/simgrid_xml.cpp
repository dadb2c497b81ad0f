// Writes hosts, links and routes, in this order, as SimGrid wants them.
#include "platforms/show/simgrid_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <variant>
#include <vector>

#include "platforms/network/topology.hpp"
#include "support/markup_text.hpp"
#include "support/visible_text.hpp"

namespace fourfold::inline platforms::inline show {
namespace {

constexpr double route_latency_s = 1e-9;

// Two hyphens in a row may not stand in a comment.
std::string in_comment(std::string text) {
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at)) {
    text[at + 1] = ' ';
  }
  return text;
}

void refuse(const Platform& platform, std::int64_t devices) {
  if (devices < 1 || devices > platform.devices()) {
    throw std::invalid_argument(fmt::format(
        "{} has {} devices: 1 to {} can be exported, not {}.", platform.name, platform.devices(),
        std::min(platform.devices(), most_simgrid_xml_devices), devices));
  }
  if (devices > most_simgrid_xml_devices) {
    throw std::invalid_argument(fmt::format(
        "{} devices would need {} explicit routes, one for every ordered pair: export {} at most, "
        "fourfold-replay computes routes instead.",
        devices, devices * (devices - 1), most_simgrid_xml_devices));
  }
  const auto* crossbar = std::get_if<CrossbarNetwork>(&platform.network);
  if (crossbar != nullptr && crossbar->private_port_per_lane) {
    throw std::invalid_argument(
        fmt::format("{} gives each lane of a device a port of its own, which routes between hosts "
                    "cannot tell apart: export a crossbar without private_port_per_lane.",
                    platform.name));
  }
}

}  // namespace

std::string simgrid_xml(const Platform& platform, std::int64_t devices) {
  refuse(platform, devices);
  const std::int64_t per_node = platform.node.devices;
  const Topology topology(platform, (devices + per_node - 1) / per_node);
  std::string routes;
  std::vector<bool> crossed(static_cast<std::size_t>(topology.link_count()));
  std::vector<std::int32_t> path;
  for (std::int64_t from = 0; from < devices; ++from) {
    for (std::int64_t to = 0; to < devices; ++to) {
      if (from == to) continue;
      path.clear();
      topology.minimal_route(from, to, path);
      fmt::format_to(std::back_inserter(routes),
                     "    <route src=\"device-{}\" dst=\"device-{}\" symmetrical=\"NO\">"
                     "<link_ctn id=\"latency {}\"/>",
                     from, to, from);
      for (std::int32_t link : path) {
        crossed[static_cast<std::size_t>(link)] = true;
        fmt::format_to(std::back_inserter(routes), "<link_ctn id=\"{}\"/>",
                       markup_text(topology.link_name(link)));
      }
      routes += "</route>\n";
    }
  }

  std::string xml = fmt::format(
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<!-- The first {} devices of {}. Routes are minimal; what messages do\n"
      "     besides on detours cannot be said here. Every route has the same latency, {:g} s. -->\n"
      "<platform version=\"4.1\">\n  <zone id=\"{}\" routing=\"Full\">\n",
      devices, in_comment(visible(platform.title)), route_latency_s, markup_text(platform.name));
  auto out = std::back_inserter(xml);
  for (std::int64_t device = 0; device < devices; ++device) {
    fmt::format_to(out, "    <host id=\"device-{}\" speed=\"{:.17g}f\"/>\n", device,
                   platform.processor.empirical_peak.value);
  }
  for (std::int64_t device = 0; device < devices; ++device) {
    fmt::format_to(out,
                   "    <link id=\"latency {}\" bandwidth=\"1e18Bps\" latency=\"{:g}s\" "
                   "sharing_policy=\"FATPIPE\"/>\n",
                   device, route_latency_s);
  }
  for (std::int32_t link = 0; link < topology.link_count(); ++link) {
    if (!crossed[static_cast<std::size_t>(link)]) continue;
    fmt::format_to(out, "    <link id=\"{}\" bandwidth=\"{:.17g}Bps\" latency=\"0s\"/>\n",
                   markup_text(topology.link_name(link)), topology.capacity(link).value);
  }
  return xml + routes + "  </zone>\n</platform>\n";
}

}  // namespace fourfold::inline platforms::inline show
