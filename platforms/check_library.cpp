// Whether the plateaus of the collective library can be those of this node.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "platforms/check.hpp"

namespace fourfold {
namespace {

// As written: a what-if factor may well ask for more than the machine has.
std::vector<double> rates_as_written(const Platform& platform, const std::string& list) {
  std::vector<double> rates;
  for (const Fact& fact : platform.facts) {
    if (fact.key.starts_with(list + ".")) rates.push_back(fact.value);
  }
  return rates;
}

// Groups larger than the last row would take its rate without anybody having said so.
void check_plateaus(const Platform& platform, const std::vector<Plateau>& plateaus,
                    const std::string& name) {
  int previous = 0;
  for (const Plateau& plateau : plateaus) {
    if (plateau.devices <= previous) {
      refuse(platform, fmt::format("library.{} must ascend in devices, but {} follows {}", name,
                                   plateau.devices, previous));
    }
    if (plateau.devices > platform.node.devices) {
      refuse(platform, fmt::format("library.{} speaks of {} devices per node, but a node has {}",
                                   name, plateau.devices, platform.node.devices));
    }
    previous = plateau.devices;
  }
  if (previous < platform.node.devices) {
    refuse(platform, fmt::format("library.{} ends at {} device{} per node, but a node has {}: add "
                                 "the row of a whole node, which most collectives of a training "
                                 "step use",
                                 name, previous, previous == 1 ? "" : "s", platform.node.devices));
  }
}

// A ring over nodes sends every byte through a NIC: m members have at most the m fastest.
void check_injection(const Platform& platform) {
  std::vector<double> nics = rates_as_written(platform, "node.nics");
  std::sort(nics.begin(), nics.end(), std::greater<>());
  const std::vector<double> plateaus = rates_as_written(platform, "library.across");
  for (std::size_t row = 0; row < plateaus.size(); ++row) {
    const int members = platform.library.across[row].devices;
    double injection = 0.0;
    for (std::size_t i = 0; i < std::min(nics.size(), static_cast<std::size_t>(members)); ++i) {
      injection += nics[i];
    }
    if (plateaus[row] <= injection * (1.0 + 1e-9)) continue;
    refuse(platform,
           fmt::format("library.across gives {:g} GB/s to {} device{} per node, but by node.nics "
                       "no ring leaves a node faster than {:g}; all-reduces over two nodes or by "
                       "the switches seem faster than rings: measure an all-gather over four nodes",
                       plateaus[row], members, members == 1 ? "" : "s", injection));
  }
}

}  // namespace

void check_library(const Platform& platform) {
  const CollectiveLibrary& library = platform.library;
  if (library.across.empty()) refuse(platform, "library.across has no entries");
  if (library.in_node.empty() && platform.node.devices > 1) {
    refuse(platform, "library.in_node has no entries, but a node has several devices");
  }
  if (library.overlap_exponent < 1.0) {
    refuse(platform, fmt::format("library.overlap_exponent is {}, but it must be at least 1",
                                 library.overlap_exponent));
  }
  check_plateaus(platform, library.across, "across");
  if (platform.node.devices > 1) check_plateaus(platform, library.in_node, "in_node");
  check_injection(platform);
  for (const StridedPlateau& plateau : library.in_node_by_stride) {
    if (plateau.stride < 1 || plateau.devices < 2 ||
        plateau.stride * (plateau.devices - 1) >= platform.node.devices) {
      refuse(platform, fmt::format("library.in_node_by_stride: {} devices {} apart do not fit in a "
                                   "node of {}",
                                   plateau.devices, plateau.stride, platform.node.devices));
    }
  }
}

}  // namespace fourfold
