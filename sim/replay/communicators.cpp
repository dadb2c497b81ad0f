// Numbers lines by the coordinates that are not on their axis, inner ones fastest.
#include "sim/replay/communicators.hpp"

#include <limits>
#include <stdexcept>

namespace fourfold {

Communicators::Communicators(const ProcessGrid& grid, const std::vector<Channel>& channels,
                             const std::vector<bool>& used) {
  const auto most = std::numeric_limits<std::int32_t>::max();
  if (grid.size() > most / static_cast<std::int64_t>(channels.size() + 1)) {
    throw std::invalid_argument("The grid " + grid.str() + " has too many ranks to be replayed.");
  }
  const auto ranks = static_cast<std::int32_t>(grid.size());
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const Axis axis = channels[c].axis;
    const auto extent = static_cast<std::int32_t>(grid.extent(axis));
    const auto stride = static_cast<std::int32_t>(grid.stride(axis));
    channels_.push_back({count(), extent, stride, axis});
    if (!used[c] || extent == 1) continue;
    std::vector<std::int32_t>& line = line_[static_cast<int>(axis)];
    line.resize(ranks);
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      line[rank] = rank / (stride * extent) * stride + rank % stride;
    }
    for (std::int32_t i = 0; i < ranks / extent; ++i) {
      channel_of_.push_back(static_cast<ChannelNumber>(c));
      member_.push_back(i / stride * stride * extent + i % stride);
    }
  }
}

}  // namespace fourfold
