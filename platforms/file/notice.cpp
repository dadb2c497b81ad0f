// The rows of library.across against each other, the software against the processor; see
// notice.hpp.
#include "platforms/file/notice.hpp"

#include <fmt/format.h>

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
