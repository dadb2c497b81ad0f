// Which device of the machine each rank of the job runs on.
#pragma once

#include <cstdint>
#include <vector>

#include "platforms/platform.hpp"

namespace fourfold::inline platforms {

// Packed: rank r is device r, so that the innermost axis of the process grid fills nodes first.
// Other placements keep the ranks of a node together and move whole nodes, but for a list of
// devices, which may do anything.
struct Mapping {
  std::vector<std::int64_t> devices;  // by rank; each device at most once

  // These throw std::invalid_argument with a sentence if ranks is below 1, or if the platform
  // cannot hold them.
  static Mapping packed(std::int64_t ranks);
  // The job's nodes are dealt out in turn to the groups of a dragonfly, or to the largest parts of
  // a fat tree below its root. Throws where the network has no such groups.
  static Mapping spread(std::int64_t ranks, const Platform& platform);
  // The job's nodes are drawn from all nodes of the machine, in random order.
  static Mapping random(std::int64_t ranks, const Platform& platform, std::uint64_t seed);
  // The job's nodes are those listed, in this order: as many as it needs, none twice.
  static Mapping on_nodes(std::int64_t ranks, const Platform& platform,
                          const std::vector<std::int64_t>& nodes);
  // Rank r is on devices[r]: as many as ranks, none twice.
  static Mapping on_devices(std::int64_t ranks, const Platform& platform,
                            const std::vector<std::int64_t>& devices);

  std::int64_t ranks() const { return static_cast<std::int64_t>(devices.size()); }

  // The devices of a line of the process grid, in its order. Throws std::out_of_range for ranks
  // that the mapping does not have.
  std::vector<std::int64_t> apply(const std::vector<std::int64_t>& line) const;

  // Nodes that must exist for the mapping: one more than the last node it uses.
  std::int64_t nodes(int devices_per_node) const;
};

}  // namespace fourfold::inline platforms
