// Routing by arithmetic: a few divisions a hop, so that a million ring edges cost about a second.
#include "platforms/network/dragonfly.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace fourfold::inline platforms::inline network {
namespace {

std::int32_t checked(const char* what, std::int64_t value, std::int64_t least) {
  if (value < least || value > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument(
        fmt::format("network.{} is {}: a dragonfly needs at least {}", what, value, least));
  }
  return static_cast<std::int32_t>(value);
}

// The `j`-th of `count` intermediates between a and b on a ring of `size` places, a and b left out.
// Distinct for distinct j; `turn` moves the whole choice on. The start depends on the distance, so
// that the messages of one source, or to one target, go through different places.
std::int32_t intermediate(std::int32_t a, std::int32_t b, std::int32_t size, std::int32_t count,
                          std::int32_t j, std::int32_t turn) {
  const std::int32_t distance = b > a ? b - a : b - a + size;
  const std::int32_t choices = size - 2;
  const std::int32_t rank = (2 * distance + turn + j * choices / count) % choices;
  const std::int32_t offset = rank + 1 < distance ? rank + 1 : rank + 2;
  const std::int32_t place = a + offset;
  return place < size ? place : place - size;
}

}  // namespace

Dragonfly::Dragonfly(const DragonflyNetwork& network, std::int64_t nics_per_node,
                     std::int64_t nodes)
    : groups_(checked("groups", network.groups, 1)),
      switches_(checked("switches_per_group", network.switches_per_group, 1)),
      nodes_per_group_(checked("nodes_per_group", network.nodes_per_group, 1)),
      cables_(network.groups > 1 ? checked("links_per_group_pair", network.links_per_group_pair, 1)
                                 : 1),
      nics_(checked("nics", nics_per_node, 1)),
      local_detours_(
          std::min(checked("local_detours", network.local_detours, 0), std::max(switches_ - 2, 0))),
      global_detours_(
          std::min(checked("global_detours", network.global_detours, 0), std::max(groups_ - 2, 0))),
      link_capacity_(network.link_bandwidth.value),
      bundle_capacity_(network.global_link_bandwidth.value * cables_) {
  if (!(link_capacity_ > 0.0)) {
    throw std::invalid_argument("network.link_bandwidth must be above zero");
  }
  const std::int64_t groups_used = (nodes + nodes_per_group_ - 1) / nodes_per_group_;
  if (groups_used > groups_) {
    throw std::invalid_argument(fmt::format("{} nodes do not fit: {} groups of {} nodes hold {}",
                                            nodes, groups_, nodes_per_group_,
                                            std::int64_t{groups_} * nodes_per_group_));
  }
  const std::int64_t local_links = groups_used * switches_ * (switches_ - 1);
  const std::int64_t global_links = std::int64_t{groups_} * (groups_ - 1);
  if (local_links + global_links > std::numeric_limits<std::int32_t>::max()) {
    throw std::invalid_argument("the network has more links than 32-bit numbers can name");
  }
  local_count_ = static_cast<std::int32_t>(local_links);

  const std::int32_t chassis = std::max(switches_ / nics_, 1);
  nodes_per_chassis_ = (nodes_per_group_ + chassis - 1) / chassis;
  for (std::int32_t node = 0; node < nodes_per_group_; ++node) {
    for (std::int32_t nic = 0; nic < nics_; ++nic) {
      place_.push_back((node / nodes_per_chassis_ * nics_ + nic) % switches_);
    }
  }
}

std::string Dragonfly::link_name(std::int32_t link) const {
  if (link >= local_count_) {
    const std::int32_t from = (link - local_count_) / (groups_ - 1);
    const std::int32_t to = (link - local_count_) % (groups_ - 1);
    return fmt::format("group {} -> group {}", from, to < from ? to : to + 1);
  }
  const std::int32_t switch_index = link / (switches_ - 1);
  const std::int32_t from = switch_index % switches_;
  const std::int32_t to = link % (switches_ - 1);
  return fmt::format("group {} switch {} -> switch {}", switch_index / switches_, from,
                     to < from ? to : to + 1);
}

void Dragonfly::route_in_group(Port from, Port to, double share, std::int32_t first,
                               Footprint& path) const {
  const std::int32_t g = group(from.node);
  const std::int32_t s = switch_of(from);
  const std::int32_t t = switch_of(to);
  if (s == t) return;
  const double part = share / (local_detours_ + 1);
  path.push_back({first + local(g, s, t), part});
  for (std::int32_t j = 0; j < local_detours_; ++j) {
    const std::int32_t via = intermediate(s, t, switches_, local_detours_, j, from.node);
    path.push_back({first + local(g, s, via), part});
    path.push_back({first + local(g, via, t), part});
  }
}

void Dragonfly::route(Port from, Port to, double share, std::int32_t first, Footprint& path) const {
  const std::int32_t a = group(from.node);
  const std::int32_t b = group(to.node);
  if (a == b) return route_in_group(from, to, share, first, path);

  const std::int32_t s = switch_of(from);
  const std::int32_t t = switch_of(to);
  const double part = share / (global_detours_ + 1);
  const auto leave = [&](std::int32_t peer, std::int32_t cable) {
    const std::int32_t exit = gateway(a, peer, cable);
    if (exit != s) path.push_back({first + local(a, s, exit), part});
    path.push_back({first + global(a, peer), part});
  };
  const auto arrive = [&](std::int32_t peer, std::int32_t cable) {
    const std::int32_t entry = gateway(b, peer, cable);
    if (entry != t) path.push_back({first + local(b, entry, t), part});
  };
  // Twice the node: intermediates advance by one a node, and cables must not keep step with them,
  // or all messages through one group would meet at one gateway.
  const std::int32_t turn = s + t + 2 * from.node;
  leave(b, turn % cables_);
  arrive(a, turn % cables_);
  for (std::int32_t j = 0; j < global_detours_; ++j) {
    const std::int32_t via = intermediate(a, b, groups_, global_detours_, j, from.node);
    const std::int32_t cable = (turn + j) % cables_;
    leave(via, cable);
    path.push_back({first + global(via, b), part});
    arrive(via, cable);
  }
}

void Dragonfly::minimal_route(Port from, Port to, std::int32_t first,
                              std::vector<std::int32_t>& path) const {
  const std::int32_t a = group(from.node);
  const std::int32_t b = group(to.node);
  const std::int32_t s = switch_of(from);
  const std::int32_t t = switch_of(to);
  if (a == b) {
    if (s != t) path.push_back(first + local(a, s, t));
    return;
  }
  const std::int32_t cable = (s + t + 2 * from.node) % cables_;
  const std::int32_t exit = gateway(a, b, cable);
  const std::int32_t entry = gateway(b, a, cable);
  if (exit != s) path.push_back(first + local(a, s, exit));
  path.push_back(first + global(a, b));
  if (entry != t) path.push_back(first + local(b, entry, t));
}

}  // namespace fourfold::inline platforms::inline network
