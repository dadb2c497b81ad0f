// What can be said of a network without knowing its numbers.
#include "platforms/network/network.hpp"

namespace fourfold::inline platforms::inline network {
namespace {

struct Words {
  std::string operator()(const CrossbarNetwork&) const { return "crossbar"; }
  std::string operator()(const DragonflyNetwork&) const { return "dragonfly"; }
  std::string operator()(const DragonflyPlusNetwork&) const { return "dragonfly+"; }
  std::string operator()(const FatTreeNetwork& network) const {
    return network.tiers.size() < 2 ? "single switch" : "fat tree";
  }
  std::string operator()(const TorusNetwork&) const { return "torus"; }
};

struct GlobalLinks {
  bool operator()(const CrossbarNetwork&) const { return false; }
  bool operator()(const DragonflyNetwork&) const { return true; }
  bool operator()(const DragonflyPlusNetwork&) const { return true; }
  bool operator()(const FatTreeNetwork& network) const { return network.tiers.size() > 1; }
  bool operator()(const TorusNetwork&) const { return false; }
};

}  // namespace

std::string kind_in_words(const Network& network) {
  return std::visit(Words{}, network);
}

bool has_global_links(const Network& network) {
  return std::visit(GlobalLinks{}, network);
}

}  // namespace fourfold::inline platforms::inline network
