// The rate of an axis by adding up the footprints of all its lines on every link, and how far the
// closed form is from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "platforms/network/axis_rate.hpp"
#include "platforms/network/topology.hpp"

namespace fourfold::tests {

struct AxisOfJob {
  std::int64_t stride, extent, devices;
};

inline double brute_force(const Platform& platform, AxisOfJob axis) {
  const std::int64_t per_node = platform.node.devices;
  const Topology topology(platform, (axis.devices + per_node - 1) / per_node);
  std::vector<double> load(topology.link_count());
  const std::int64_t block = axis.stride * axis.extent;
  for (std::int64_t first = 0; first < axis.devices; ++first) {
    if (first % block >= axis.stride) continue;
    std::vector<std::int64_t> line;
    for (std::int64_t i = 0; i < axis.extent; ++i) line.push_back(first + i * axis.stride);
    for (const LinkShare& entry : topology.ring_footprint(line, 0)) load[entry.link] += entry.share;
  }
  double rate = std::numeric_limits<double>::infinity();
  for (std::int32_t link = 0; link < topology.link_count(); ++link) {
    if (load[link] > 0.0) rate = std::min(rate, topology.capacity(link).value / load[link]);
  }
  return rate;
}

// All axes that a grid of `devices` can have.
inline std::vector<AxisOfJob> axes_of(std::int64_t devices) {
  std::vector<AxisOfJob> axes;
  for (std::int64_t stride = 1; stride < devices; ++stride) {
    if (devices % stride != 0) continue;
    for (std::int64_t extent = 2; extent <= devices / stride; ++extent) {
      if (devices / stride % extent == 0) axes.push_back({stride, extent, devices});
    }
  }
  return axes;
}

struct Errors {
  double mean = 0.0;
  double worst_factor = 1.0;
};

inline Errors errors(const Platform& platform, std::int64_t devices) {
  const AxisRates rates(platform);
  Errors errors;
  const std::vector<AxisOfJob> axes = axes_of(devices);
  for (const AxisOfJob& axis : axes) {
    const double expected = brute_force(platform, axis);
    const double actual = rates.rate(axis.stride, axis.extent, axis.devices).value;
    errors.mean += std::abs(actual / expected - 1) / static_cast<double>(axes.size());
    errors.worst_factor = std::max({errors.worst_factor, actual / expected, expected / actual});
  }
  return errors;
}

}  // namespace fourfold::tests
