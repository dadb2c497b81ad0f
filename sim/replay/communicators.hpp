// The communicators of a process grid, one per lane and line of ranks, numbered without gaps: they
// are the flows of a replay. Lanes that carry nothing have none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/program/lane.hpp"
#include "schedule/program/process_grid.hpp"

namespace fourfold {

class Communicators {
 public:
  Communicators(const ProcessGrid& grid, const std::array<bool, lane_count>& used);

  std::int32_t count() const { return first_[lane_count]; }
  std::int32_t extent(Lane lane) const { return extent_[static_cast<int>(lane)]; }
  Lane lane(std::int32_t communicator) const { return lane_of_[communicator]; }

  std::int32_t communicator(Lane lane, std::int32_t rank) const {
    const int l = static_cast<int>(lane);
    return first_[l] + line_[static_cast<int>(axis_of(lane))][rank];
  }

  // Members are first_member, first_member + stride, ...: extent of them.
  std::int32_t first_member(std::int32_t communicator) const { return member_[communicator]; }
  std::int32_t stride(Lane lane) const { return stride_[static_cast<int>(lane)]; }

 private:
  std::array<std::int32_t, lane_count + 1> first_{};
  std::array<std::int32_t, lane_count> extent_{};
  std::array<std::int32_t, lane_count> stride_{};
  std::array<std::vector<std::int32_t>, 4> line_;  // by axis: the number of a rank's line
  std::vector<Lane> lane_of_;
  std::vector<std::int32_t> member_;
};

}  // namespace fourfold
