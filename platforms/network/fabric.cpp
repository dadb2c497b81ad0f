// From the numbers of a network to its links and routes.
#include "platforms/network/fabric.hpp"

namespace fourfold::inline platforms::inline network {
namespace {

struct Builder {
  std::int64_t nics_per_node;
  std::int64_t nodes;

  std::optional<Fabric> operator()(const CrossbarNetwork&) const { return std::nullopt; }
  std::optional<Fabric> operator()(const DragonflyNetwork& network) const {
    return Dragonfly(network, nics_per_node, nodes);
  }
  std::optional<Fabric> operator()(const DragonflyPlusNetwork& network) const {
    return DragonflyPlus(network, nics_per_node, nodes);
  }
  std::optional<Fabric> operator()(const FatTreeNetwork& network) const {
    return FatTree(network, nics_per_node, nodes);
  }
  std::optional<Fabric> operator()(const TorusNetwork& network) const {
    return Torus(network, nodes);
  }
};

}  // namespace

std::optional<Fabric> fabric_of(const Network& network, std::int64_t nics_per_node,
                                std::int64_t nodes) {
  return std::visit(Builder{nics_per_node, nodes}, network);
}

}  // namespace fourfold::inline platforms::inline network
