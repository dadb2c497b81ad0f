// Equations (1)-(7) over the counted bytes; see paper_model.hpp.
#include "sim/cost/paper_model.hpp"

#include <algorithm>

namespace fourfold {

namespace {

BytesPerSecond in_node_bandwidth(const CollectiveLibrary& library, std::int64_t stride,
                                 std::int64_t extent) {
  for (const StridedPlateau& entry : library.in_node_by_stride) {
    if (entry.stride == stride && entry.devices == extent) return entry.bus_bandwidth;
  }
  BytesPerSecond nearest = library.in_node.front().bus_bandwidth;
  for (const Plateau& entry : library.in_node) {
    if (entry.devices <= extent) nearest = entry.bus_bandwidth;
  }
  return nearest;
}

}  // namespace

BytesPerSecond paper_bandwidth(const ProcessGrid& grid, Axis axis, const Platform& platform) {
  const std::int64_t stride = grid.stride(axis);
  const std::int64_t extent = grid.extent(axis);
  const std::int64_t per_node = platform.node.devices;
  if (stride * extent <= per_node) return in_node_bandwidth(platform.library, stride, extent);
  const BytesPerSecond whole_node = platform.library.across.back().bus_bandwidth;
  return whole_node / static_cast<double>(std::min(per_node, stride));
}

Seconds paper_communication(const Counts& counts, const ProcessGrid& grid,
                            const Platform& platform) {
  Seconds sum;
  for (std::size_t channel = 0; channel < counts.sent.size(); ++channel) {
    const Axis axis = counts.channels[channel].axis;
    if (grid.extent(axis) == 1) continue;
    sum += counts.sent[channel] / paper_bandwidth(grid, axis, platform);
  }
  return sum;
}

}  // namespace fourfold
