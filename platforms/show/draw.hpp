// Pictures of a machine in characters: the node with its links and NICs, and the network.
#pragma once

#include <string>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms::inline show {

std::string draw_node(const Node& node);
std::string draw_network(const Platform& platform);

}  // namespace fourfold::inline platforms::inline show
