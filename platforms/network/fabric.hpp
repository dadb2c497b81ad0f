// The network between the NICs, whatever its kind: each kind numbers its links from 0 and has the
// same members (link_count, kind, capacity, link_name, route, minimal_route).
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "platforms/network/dragonfly.hpp"
#include "platforms/network/dragonfly_plus.hpp"
#include "platforms/network/fat_tree.hpp"
#include "platforms/network/network.hpp"
#include "platforms/network/torus.hpp"

namespace fourfold::inline platforms::inline network {

using Fabric = std::variant<Dragonfly, DragonflyPlus, FatTree, Torus>;

// Of the first `nodes` nodes; none for a crossbar, in which only the devices' ports contend. Throws
// std::invalid_argument on impossible numbers or more nodes than the network holds.
std::optional<Fabric> fabric_of(const Network& network, std::int64_t nics_per_node,
                                std::int64_t nodes);

}  // namespace fourfold::inline platforms::inline network
