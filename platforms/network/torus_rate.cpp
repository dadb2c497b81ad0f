// Distances along each dimension are the digits of a hop in the mixed radix of the extents.
#include "platforms/network/torus_rate.hpp"

#include <algorithm>

#include "platforms/network/fat_tree_rate.hpp"

namespace fourfold::inline platforms::inline network {
namespace {

// How many links a message crosses forth and back along a ring of `extent` routers, if its target
// is `ahead` routers on: the shorter way, half each if both are equally long.
struct Crossed {
  double on = 0.0;
  double back = 0.0;
};

Crossed crossed(std::int64_t ahead, std::int64_t extent) {
  const std::int64_t behind = extent - ahead;
  if (ahead == behind) return {static_cast<double>(ahead) / 2, static_cast<double>(ahead) / 2};
  if (ahead < behind) return {static_cast<double>(ahead), 0.0};
  return {0.0, static_cast<double>(behind)};
}

}  // namespace

TorusRates::TorusRates(const Node& node, const TorusNetwork& network)
    : devices_per_node_(node.devices), torus_(network, 1) {}

double TorusRates::load(std::int32_t dimension, std::int64_t hop, std::int64_t extent) const {
  const std::int64_t step = torus_.step(dimension);
  const std::int64_t ring = torus_.extent(dimension);
  const std::int64_t block = hop * extent;
  const std::int64_t home = hop * (extent - 1);  // from the last member back to the first
  const bool ends_below = step % block == 0;     // then nothing carries into this dimension
  const std::int64_t ahead = hop / step % ring;
  const std::int64_t behind = home / step % ring;

  Crossed most;
  for (std::int64_t carry = 0; carry < (hop % step != 0 && !ends_below ? 2 : 1); ++carry) {
    const Crossed forth = crossed((ahead + carry) % ring, ring);
    most = {std::max(most.on, forth.on), std::max(most.back, forth.back)};
  }
  // Side by side in a row, `hop / step` lines return at once.
  const double returning = static_cast<double>(std::max<std::int64_t>(ahead, 1));
  const double part = 1.0 / static_cast<double>(extent);
  Crossed sum = most;
  for (std::int64_t carry = 0; carry < (home % step != 0 && !ends_below ? 2 : 1); ++carry) {
    const Crossed home_again = crossed((ring - (behind + carry) % ring) % ring, ring);
    sum.on = std::max({sum.on, std::min(home_again.on, returning),
                       most.on * (1.0 - part) + home_again.on * part});
    sum.back = std::max({sum.back, std::min(home_again.back, returning),
                         most.back * (1.0 - part) + home_again.back * part});
  }
  return std::max(sum.on, sum.back);
}

double TorusRates::rate(AxisLines lines, const NodeLoad& node) const {
  const std::int64_t d = devices_per_node_;
  const auto flows = static_cast<double>(most_lines_leaving(d, lines));
  if (flows == 0.0) return node.rate;
  const std::int64_t hop = std::max<std::int64_t>(lines.stride / d, 1);
  const std::int64_t extent = std::max<std::int64_t>(lines.stride * lines.extent / (hop * d), 2);
  double rate = node.rate;
  for (std::int32_t dimension = 0; dimension < torus_.dimensions(); ++dimension) {
    const double messages = load(dimension, hop, extent) * flows;
    if (messages > 0.0) rate = std::min(rate, torus_.link_capacity() / messages);
  }
  return rate;
}

}  // namespace fourfold::inline platforms::inline network
