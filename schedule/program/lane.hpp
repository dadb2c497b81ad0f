// Lanes are what runs side by side on a device: one stream of compute, and one FIFO communicator a
// lane. z has two, so that a weight gather never queues behind a gradient's reduce-scatter.
#pragma once

#include <array>
#include <cstdint>

#include "schedule/program/process_grid.hpp"

namespace fourfold {

enum class Lane : std::uint8_t { x, y, z_gather, z_reduce, data };

inline constexpr int lane_count = 5;
inline constexpr std::array<Lane, lane_count> all_lanes{Lane::x, Lane::y, Lane::z_gather,
                                                        Lane::z_reduce, Lane::data};

constexpr Axis axis_of(Lane lane) {
  constexpr std::array<Axis, lane_count> axes{Axis::x, Axis::y, Axis::z, Axis::z, Axis::data};
  return axes[static_cast<int>(lane)];
}

const char* name(Lane lane);

}  // namespace fourfold
