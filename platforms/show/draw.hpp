// Pictures of a machine in characters: the node with its links and NICs, and the network.
#pragma once

#include <string>

#include "platforms/platform.hpp"

namespace fourfold {

std::string draw_node(const Node& node);
std::string draw_network(const Platform& platform);

}  // namespace fourfold
