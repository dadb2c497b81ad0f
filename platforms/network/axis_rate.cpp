// The node's limit and the network's, whichever is lower.
#include "platforms/network/axis_rate.hpp"

#include <limits>
#include <stdexcept>

#include "platforms/network/topology.hpp"
#include "platforms/node/node_graph.hpp"

namespace fourfold::inline platforms::inline network {

AxisRates::AxisRates(const Platform& platform) {
  const Topology one_node(platform, 1);  // checks the platform
  network_ = network_rates(platform);
  if (!network_) {
    port_ = platform.node.nics.front().bandwidth.value;
    port_per_lane_ = std::get<CrossbarNetwork>(platform.network).private_port_per_lane;
    return;
  }
  if (platform.node.nics.size() > most_nics) {
    throw std::invalid_argument("a node has " + std::to_string(most_nics) + " NICs at most");
  }
  nodes_.emplace(platform);
  const NodeGraph graph(platform.node);
  for (std::int32_t i = 0; i < graph.link_count(); ++i) capacities_.push_back(graph.capacity(i));
  for (const Nic& nic : platform.node.nics) capacities_.push_back(nic.bandwidth.value);
  counted_.emplace(platform);
}

std::optional<AxisRates::NetworkRates> AxisRates::network_rates(const Platform& platform) {
  struct Builder {
    const Node& node;
    std::optional<NetworkRates> operator()(const CrossbarNetwork&) const { return std::nullopt; }
    std::optional<NetworkRates> operator()(const DragonflyNetwork& network) const {
      return DragonflyRates(node, network);
    }
    std::optional<NetworkRates> operator()(const DragonflyPlusNetwork& network) const {
      return DragonflyPlusRates(node, network);
    }
    std::optional<NetworkRates> operator()(const FatTreeNetwork& network) const {
      return FatTreeRates(node, network);
    }
    std::optional<NetworkRates> operator()(const TorusNetwork& network) const {
      return TorusRates(node, network);
    }
  };
  return std::visit(Builder{platform.node}, platform.network);
}

BytesPerSecond AxisRates::rate(std::int64_t stride, std::int64_t extent, std::int64_t devices,
                               Slice slice) const {
  if (extent == 1) return {std::numeric_limits<double>::infinity()};
  if (!network_) return {port_};
  const AxisLines lines{stride, extent, devices};
  if (counted_->has(lines)) return {counted_->load(lines, slice).rate};
  const NodeLoad node = nodes_->load(lines);
  return {std::visit([&](const auto& network) { return network.rate(lines, node); }, *network_)};
}

void AxisRates::shares(AxisLines lines, Slice slice, std::vector<LinkShare>& shares) const {
  const std::int32_t inside = links() - 2;
  const std::int32_t between = links() - 1;
  if (!network_) {
    shares.push_back({inside, 1.0 / port_});
    return;
  }
  if (counted_->has(lines)) {
    const std::vector<LinkShare>& counted = counted_->load(lines, slice).shares;
    shares.insert(shares.end(), counted.begin(), counted.end());
    return;
  }
  for (const LinkShare& link : nodes_->links(lines)) {
    shares.push_back({link.link, link.share / capacities_[static_cast<std::size_t>(link.link)]});
  }
  NodeLoad node = nodes_->load(lines);
  if (const auto* dragonfly = std::get_if<DragonflyRates>(&*network_)) {
    shares.push_back({inside, 1.0 / dragonfly->within_groups(lines, node)});
    shares.push_back({between, 1.0 / dragonfly->between_groups(lines)});
    return;
  }
  node.rate = std::numeric_limits<double>::infinity();
  shares.push_back(
      {between, 1.0 / std::visit([&](const auto& network) { return network.rate(lines, node); },
                                 *network_)});
}

}  // namespace fourfold::inline platforms::inline network
