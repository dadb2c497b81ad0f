// Devices that a slow device concerns alike: itself, those that share a group with it, all others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/program/process_grid.hpp"

namespace fourfold::inline sim::inline conditions {

struct DeviceClasses {
  std::vector<std::string> names;
  std::vector<std::int8_t> of_rank;  // index into `names`

  // One rank of each class; where there is only one class, its first, middle and last rank.
  std::vector<std::int64_t> samples() const;
};

// `factors`: by rank, on compute time, as compute_factors() gives them; empty if none is slow. A
// rank that shares groups of several axes with slow devices belongs to the first of x, y, z, data.
DeviceClasses device_classes(const ProcessGrid& grid, const std::vector<double>& factors);

}  // namespace fourfold::inline sim::inline conditions
