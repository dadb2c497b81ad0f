// Dimension-order routing by arithmetic on router numbers.
#include "platforms/network/torus.hpp"

#include <fmt/core.h>

#include <limits>
#include <stdexcept>

namespace fourfold::inline platforms::inline network {

Torus::Torus(const TorusNetwork& network, std::int64_t nodes)
    : link_capacity_(network.link_bandwidth.value) {
  if (network.extents.empty()) throw std::invalid_argument("a torus needs at least one dimension");
  if (!(link_capacity_ > 0.0)) {
    throw std::invalid_argument("network.link_bandwidth must be above zero");
  }
  std::int64_t routers = 1;
  const auto links_per_router = static_cast<std::int64_t>(2 * network.extents.size());
  for (std::int64_t extent : network.extents) {
    if (extent < 2) {
      throw std::invalid_argument(
          fmt::format("a dimension of a torus has at least 2 routers, not {}", extent));
    }
    steps_.push_back(static_cast<std::int32_t>(routers));
    if (extent > std::numeric_limits<std::int32_t>::max() / routers / links_per_router) {
      throw std::invalid_argument("the torus has more links than 32-bit numbers can name");
    }
    extents_.push_back(static_cast<std::int32_t>(extent));
    routers *= extent;
  }
  routers_ = static_cast<std::int32_t>(routers);
  if (nodes > routers) {
    throw std::invalid_argument(
        fmt::format("{} nodes do not fit: the torus has {} routers", nodes, routers));
  }
}

std::int32_t Torus::neighbour(std::int32_t router, std::int32_t dimension, Way way) const {
  const std::int32_t extent = extents_[dimension];
  const std::int32_t step = steps_[dimension];
  const std::int32_t place = router / step % extent;
  if (way == on) return place + 1 < extent ? router + step : router - (extent - 1) * step;
  return place > 0 ? router - step : router + (extent - 1) * step;
}

std::int32_t Torus::distance_on(std::int32_t from, std::int32_t to, std::int32_t dimension) const {
  const std::int32_t extent = extents_[dimension];
  const std::int32_t step = steps_[dimension];
  const std::int32_t distance = to / step % extent - from / step % extent;
  return distance < 0 ? distance + extent : distance;
}

std::string Torus::link_name(std::int32_t link) const {
  const Way way = link % 2 == 0 ? on : back;
  const std::int32_t dimension = link / 2 % dimensions();
  const std::int32_t router = link / 2 / dimensions();
  return fmt::format("router {} -> router {} (dimension {} {})", router,
                     neighbour(router, dimension, way), dimension, way == on ? "on" : "back");
}

template <typename Visitor>
std::int32_t Torus::walk(std::int32_t router, std::int32_t dimension, std::int32_t hops, Way way,
                         Visitor visit) const {
  for (std::int32_t hop = 0; hop < hops; ++hop) {
    visit(link(router, dimension, way));
    router = neighbour(router, dimension, way);
  }
  return router;
}

void Torus::route(Port from, Port to, double share, std::int32_t first, Footprint& path) const {
  std::int32_t router = from.node;
  for (std::int32_t dimension = 0; dimension < dimensions(); ++dimension) {
    const std::int32_t ahead = distance_on(router, to.node, dimension);
    const std::int32_t behind = extents_[dimension] - ahead;
    const double part = ahead == behind ? share / 2 : share;
    const auto add = [&](std::int32_t crossed) { path.push_back({first + crossed, part}); };
    std::int32_t next = router;
    if (ahead >= behind) next = walk(router, dimension, behind, back, add);
    if (ahead <= behind) next = walk(router, dimension, ahead, on, add);
    router = next;
  }
}

void Torus::minimal_route(Port from, Port to, std::int32_t first,
                          std::vector<std::int32_t>& path) const {
  std::int32_t router = from.node;
  const auto add = [&](std::int32_t crossed) { path.push_back(first + crossed); };
  for (std::int32_t dimension = 0; dimension < dimensions(); ++dimension) {
    const std::int32_t ahead = distance_on(router, to.node, dimension);
    const std::int32_t behind = extents_[dimension] - ahead;
    router = ahead <= behind ? walk(router, dimension, ahead, on, add)
                             : walk(router, dimension, behind, back, add);
  }
}

}  // namespace fourfold::inline platforms::inline network
