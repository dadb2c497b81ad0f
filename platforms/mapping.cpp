// Placement is a table: 8 bytes a rank buy any order of devices.
#include "platforms/mapping.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <variant>

#include "support/random.hpp"

namespace fourfold::inline platforms {
namespace {

std::vector<std::int64_t> numbers_from_zero(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return numbers;
}

std::int64_t nodes_for(std::int64_t ranks, const Platform& platform) {
  if (ranks < 1 || ranks > platform.devices()) {
    throw std::invalid_argument(fmt::format("{} holds a job of 1 to {} ranks, not {}",
                                            platform.name, platform.devices(), ranks));
  }
  return (ranks + platform.node.devices - 1) / platform.node.devices;
}

// Of a dragonfly's groups, of a dragonfly+'s cells, and of a fat tree's largest parts below the
// root; 0 without such.
std::int64_t nodes_per_group(const Network& network) {
  if (const auto* dragonfly = std::get_if<DragonflyNetwork>(&network)) {
    return dragonfly->nodes_per_group;
  }
  if (const auto* cells = std::get_if<DragonflyPlusNetwork>(&network)) {
    return cells->nodes_per_cell;
  }
  const auto* tree = std::get_if<FatTreeNetwork>(&network);
  if (tree == nullptr || tree->tiers.size() < 2) return 0;
  std::int64_t nodes = 1;
  for (std::size_t tier = 0; tier + 1 < tree->tiers.size(); ++tier) {
    nodes *= tree->tiers[tier].members;
  }
  return nodes;
}

// Each number below `limit` and none twice.
void check_list(const std::vector<std::int64_t>& numbers, std::int64_t limit, const char* what) {
  std::vector<bool> seen(static_cast<std::size_t>(limit));
  for (std::int64_t number : numbers) {
    if (number < 0 || number >= limit) {
      throw std::invalid_argument(
          fmt::format("the placement names {} {}, but the machine has {}s 0 to {}", what, number,
                      what, limit - 1));
    }
    if (seen[static_cast<std::size_t>(number)]) {
      throw std::invalid_argument(
          fmt::format("the placement names {} {} twice; each can be used once", what, number));
    }
    seen[static_cast<std::size_t>(number)] = true;
  }
}

void check_count(const std::vector<std::int64_t>& numbers, std::int64_t needed, const char* what) {
  if (static_cast<std::int64_t>(numbers.size()) == needed) return;
  throw std::invalid_argument(fmt::format("the placement names {} {}s, but the job runs on {}",
                                          numbers.size(), what, needed));
}

}  // namespace

Mapping Mapping::packed(std::int64_t ranks) {
  if (ranks < 1)
    throw std::invalid_argument(fmt::format("a job has 1 rank or more, not {}", ranks));
  return {numbers_from_zero(ranks)};
}

Mapping Mapping::spread(std::int64_t ranks, const Platform& platform) {
  const std::int64_t per_group = nodes_per_group(platform.network);
  if (per_group == 0) {
    throw std::invalid_argument(fmt::format(
        "the network of {}, a {}, has no groups to spread over; place the job packed, at "
        "random or by a list",
        platform.name, kind_in_words(platform.network)));
  }
  const std::int64_t needed = nodes_for(ranks, platform);
  std::vector<std::int64_t> nodes;
  for (std::int64_t turn = 0; turn < per_group; ++turn) {
    for (std::int64_t node = turn; node < platform.nodes; node += per_group) {
      if (static_cast<std::int64_t>(nodes.size()) < needed) nodes.push_back(node);
    }
  }
  return on_nodes(ranks, platform, nodes);
}

Mapping Mapping::random(std::int64_t ranks, const Platform& platform, std::uint64_t seed) {
  const std::int64_t needed = nodes_for(ranks, platform);
  std::vector<std::int64_t> nodes = numbers_from_zero(platform.nodes);
  for (std::int64_t i = 0; i < needed; ++i) {  // the first steps of a Fisher-Yates shuffle
    const auto left = static_cast<std::uint64_t>(platform.nodes - i);
    const std::uint64_t draw = random_at(seed, static_cast<std::uint64_t>(i), 0) % left;
    std::swap(nodes[static_cast<std::size_t>(i)], nodes[static_cast<std::size_t>(i) + draw]);
  }
  nodes.resize(static_cast<std::size_t>(needed));
  return on_nodes(ranks, platform, nodes);
}

Mapping Mapping::on_nodes(std::int64_t ranks, const Platform& platform,
                          const std::vector<std::int64_t>& nodes) {
  check_count(nodes, nodes_for(ranks, platform), "node");
  check_list(nodes, platform.nodes, "node");
  Mapping mapping = packed(ranks);
  const std::int64_t per_node = platform.node.devices;
  for (std::int64_t& device : mapping.devices) {
    device = nodes[static_cast<std::size_t>(device / per_node)] * per_node + device % per_node;
  }
  return mapping;
}

Mapping Mapping::on_devices(std::int64_t ranks, const Platform& platform,
                            const std::vector<std::int64_t>& devices) {
  nodes_for(ranks, platform);
  check_count(devices, ranks, "device");
  check_list(devices, platform.devices(), "device");
  return {devices};
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

}  // namespace fourfold::inline platforms
