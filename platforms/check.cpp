// Consistency of a platform: each function looks at one part and throws at the first contradiction.
#include "platforms/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace fourfold {

void refuse(const Platform& platform, const std::string& message) {
  throw std::runtime_error(fmt::format("{}: {}", platform.path, message));
}

namespace {

void check_processor(const Platform& platform) {
  const Processor& processor = platform.processor;
  if (processor.gemm.empty()) refuse(platform, "processor.gemm has no entries");
  std::int64_t previous = 0;
  for (const GemmPoint& point : processor.gemm) {
    if (point.size <= previous) {
      refuse(platform, fmt::format("processor.gemm must ascend in size, but {} follows {}",
                                   point.size, previous));
    }
    previous = point.size;
  }
  // As written: a what-if factor may well ask for more than the data sheet promises.
  double advertised = 0.0;
  for (const Fact& fact : platform.facts) {
    if (fact.key == "processor.advertised_peak_Tflops") advertised = fact.value;
  }
  for (const Fact& fact : platform.facts) {
    if (fact.key.ends_with("_Tflops") && fact.value > advertised) {
      refuse(platform, fmt::format("{} is {}, above the advertised peak of {}", fact.key,
                                   fact.value, advertised));
    }
  }
}

void check_links(const Platform& platform) {
  const Node& node = platform.node;
  std::set<std::pair<int, int>> seen;
  std::vector<int> island(static_cast<std::size_t>(node.devices));
  for (int i = 0; i < node.devices; ++i) island[static_cast<std::size_t>(i)] = i;
  for (const InnerLink& link : node.links) {
    const std::string name = fmt::format("the link {}-{}", link.a, link.b);
    for (const int end : {link.a, link.b}) {
      if (end >= node.devices) {
        refuse(platform, fmt::format("{} ends at device {}, but a node has devices 0 to {}", name,
                                     end, node.devices - 1));
      }
    }
    if (link.a == link.b) refuse(platform, name + " joins a device with itself");
    if (!seen.insert(std::minmax({link.a, link.b})).second) {
      refuse(platform, name + " is given twice; add up the widths in one entry");
    }
    const int from = island[static_cast<std::size_t>(link.a)];
    const int to = island[static_cast<std::size_t>(link.b)];
    std::replace(island.begin(), island.end(), from, to);
  }
  if (node.switch_port) return;
  for (int i = 1; i < node.devices; ++i) {
    if (island[static_cast<std::size_t>(i)] != island[0]) {
      refuse(platform,
             fmt::format("device {} of a node has no path to device 0 by node.links, and no switch "
                         "joins them",
                         i));
    }
  }
}

void check_nics(const Platform& platform) {
  const Node& node = platform.node;
  std::vector<int> served(static_cast<std::size_t>(node.devices));
  for (std::size_t i = 0; i < node.nics.size(); ++i) {
    if (node.nics[i].devices.empty()) {
      refuse(platform, fmt::format("NIC {} of a node serves no device", i));
    }
    for (const int device : node.nics[i].devices) {
      if (device >= node.devices) {
        refuse(platform, fmt::format("NIC {} serves device {}, but a node has devices 0 to {}", i,
                                     device, node.devices - 1));
      }
      ++served[static_cast<std::size_t>(device)];
    }
  }
  for (int i = 0; i < node.devices; ++i) {
    const int count = served[static_cast<std::size_t>(i)];
    if (count != 1) {
      refuse(platform, fmt::format("device {} of a node sends through {} NICs, but it must be "
                                   "exactly 1",
                                   i, count));
    }
  }
}

}  // namespace

void check(const Platform& platform) {
  check_processor(platform);
  check_links(platform);
  check_nics(platform);
  check_network(platform);
  check_library(platform);
}

}  // namespace fourfold
