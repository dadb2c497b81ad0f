// Numbers lines by the coordinates that are not on their axis, inner ones fastest.
#include "sim/replay/communicators.hpp"

#include <limits>
#include <stdexcept>

namespace fourfold {

Communicators::Communicators(const ProcessGrid& grid, const std::array<bool, lane_count>& used) {
  if (grid.size() > std::numeric_limits<std::int32_t>::max() / lane_count) {
    throw std::invalid_argument("The grid " + grid.str() + " has too many ranks to be replayed.");
  }
  const auto ranks = static_cast<std::int32_t>(grid.size());
  for (Lane lane : all_lanes) {
    const int l = static_cast<int>(lane);
    const auto extent = static_cast<std::int32_t>(grid.extent(axis_of(lane)));
    const auto stride = static_cast<std::int32_t>(grid.stride(axis_of(lane)));
    extent_[l] = extent;
    stride_[l] = stride;
    std::int32_t lines = 0;
    if (used[l] && extent > 1) {
      lines = ranks / extent;
      std::vector<std::int32_t>& line = line_[static_cast<int>(axis_of(lane))];
      line.resize(ranks);
      for (std::int32_t rank = 0; rank < ranks; ++rank) {
        line[rank] = rank / (stride * extent) * stride + rank % stride;
      }
      for (std::int32_t i = 0; i < lines; ++i) {
        lane_of_.push_back(lane);
        member_.push_back(i / stride * stride * extent + i % stride);
      }
    }
    first_[l + 1] = first_[l] + lines;
  }
}

}  // namespace fourfold
