// Which device of the machine each rank of the job runs on.
#pragma once

#include <cstdint>
#include <vector>

namespace fourfold {

// Packed: rank r is device r, so that the innermost axis of the process grid fills nodes first.
// Other placements (spread over groups, random nodes) will be further named factories.
struct Mapping {
  std::vector<std::int64_t> devices;  // by rank; each device at most once

  // Throws std::invalid_argument if ranks is below 1.
  static Mapping packed(std::int64_t ranks);

  std::int64_t ranks() const { return static_cast<std::int64_t>(devices.size()); }

  // The devices of a line of the process grid, in its order. Throws std::out_of_range for ranks
  // that the mapping does not have.
  std::vector<std::int64_t> apply(const std::vector<std::int64_t>& line) const;

  // Nodes that must exist for the mapping: one more than the last node it uses.
  std::int64_t nodes(int devices_per_node) const;
};

}  // namespace fourfold
