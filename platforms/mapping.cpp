// Placement is a table: 8 bytes a rank buy any order of devices later.
#include "platforms/mapping.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace fourfold {

Mapping Mapping::packed(std::int64_t ranks) {
  if (ranks < 1)
    throw std::invalid_argument(fmt::format("a job has 1 rank or more, not {}", ranks));
  Mapping mapping;
  mapping.devices.resize(static_cast<std::size_t>(ranks));
  std::iota(mapping.devices.begin(), mapping.devices.end(), std::int64_t{0});
  return mapping;
}

std::vector<std::int64_t> Mapping::apply(const std::vector<std::int64_t>& line) const {
  std::vector<std::int64_t> members;
  members.reserve(line.size());
  for (std::int64_t rank : line) {
    if (rank < 0 || rank >= ranks()) {
      throw std::out_of_range(
          fmt::format("rank {} is not mapped: ranks are 0..{}", rank, ranks() - 1));
    }
    members.push_back(devices[static_cast<std::size_t>(rank)]);
  }
  return members;
}

std::int64_t Mapping::nodes(int devices_per_node) const {
  return *std::max_element(devices.begin(), devices.end()) / devices_per_node + 1;
}

}  // namespace fourfold
