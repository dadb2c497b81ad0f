// The rows of library.across against each other, the software against the processor; see
// notice.hpp.
#include "platforms/file/notice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fourfold::inline platforms::inline file {
namespace {

constexpr double giga = 1e9;

// What is measured inside a node for this many neighbours; nothing without such a row.
double rate_in_node(const CollectiveLibrary& library, int devices) {
  for (const Plateau& plateau : library.in_node) {
    if (plateau.devices == devices) return plateau.bus_bandwidth.value;
  }
  return 0.0;
}

}  // namespace

std::vector<std::string> notices(const Platform& platform) {
  const CollectiveLibrary& library = platform.library;
  std::vector<std::string> sentences;
  const Plateau& first = library.across.front();
  if (first.devices > 1) {
    sentences.push_back(fmt::format(
        "library.across of {} starts at {} devices per node: groups with fewer are given the same "
        "{:g} GB/s, or what the links allow if that is less",
        platform.name, first.devices, first.bus_bandwidth.value / giga));
  }
  const Plateau* below = &first;
  for (const Plateau& row : library.across) {
    const double in_node = rate_in_node(library, row.devices);
    if (row.bus_bandwidth < below->bus_bandwidth && in_node >= below->bus_bandwidth.value) {
      sentences.push_back(fmt::format(
          "library.across of {} falls from {:g} GB/s with {} device{} per node to {:g} with {}, "
          "though {} inside a node reach {:g}: it is used as written, but check it",
          platform.name, below->bus_bandwidth.value / giga, below->devices,
          below->devices == 1 ? "" : "s", row.bus_bandwidth.value / giga, row.devices, row.devices,
          in_node / giga));
    }
    below = &row;
  }
  const auto highest = [&](const std::string& list) {
    double most = 0.0;
    for (const Fact& fact : platform.facts) {
      if (fact.key == list || fact.key.starts_with(list + ".")) most = std::max(most, fact.value);
    }
    return most;
  };
  // 1.6 Tb/s is the fastest adapter of today.
  constexpr double fastest_GBps = 200.0;
  for (const char* list : {"node.nics", "network.link_bandwidth_GBps"}) {
    if (highest(list) <= fastest_GBps) continue;
    sentences.push_back(
        fmt::format("{} of {} has {:g} GB/s, more than any adapter of today: if those are Gb/s, "
                    "write an eighth, {:g}",
                    list, platform.name, highest(list), highest(list) / 8.0));
  }
  if (std::holds_alternative<CrossbarNetwork>(platform.network) && platform.node.devices > 1) {
    std::vector<std::string> unread;
    if (!platform.node.links.empty()) unread.emplace_back("node.links");
    if (platform.node.switch_port) unread.emplace_back("node.switch_port_GBps");
    if (platform.node.nics.size() > 1) unread.emplace_back("all node.nics but the first");
    if (!unread.empty()) {
      sentences.push_back(fmt::format(
          "{} is a crossbar, on which each device has a port of the first NIC's {:g} GB/s: it does "
          "not read {}; kind = \"fat-tree\" with one tier does",
          platform.name, platform.node.nics.front().bandwidth.value / giga,
          fmt::join(unread, ", ")));
    }
  }
  const Software& software = platform.software;
  const auto lacks = [&](AttentionSoftware version, bool known) {
    if (software.attention != version || known) return;
    sentences.push_back(fmt::format(
        "{} has no rate of {}, the attention of software {}: FlashAttention-2's is used",
        platform.name, name(version), software.name));
  };
  lacks(AttentionSoftware::flash_1, platform.processor.flash_1.has_value());
  lacks(AttentionSoftware::flash_3, platform.processor.flash_3.has_value());
  return sentences;
}

}  // namespace fourfold::inline platforms::inline file
