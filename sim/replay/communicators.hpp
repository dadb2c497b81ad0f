// The communicators of a process grid, one per channel and line of ranks, numbered without gaps:
// they are the flows of a replay. Channels that carry nothing have none.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/program/channel.hpp"
#include "schedule/program/process_grid.hpp"

namespace fourfold {

class Communicators {
 public:
  // `used`: by channel, whether anything is posted on it.
  Communicators(const ProcessGrid& grid, const std::vector<Channel>& channels,
                const std::vector<bool>& used);

  std::int32_t count() const { return static_cast<std::int32_t>(member_.size()); }
  std::int32_t channels() const { return static_cast<std::int32_t>(channels_.size()); }
  std::int32_t extent(ChannelNumber channel) const { return channels_[channel].extent; }
  ChannelNumber channel(std::int32_t communicator) const { return channel_of_[communicator]; }

  std::int32_t communicator(ChannelNumber channel, std::int32_t rank) const {
    const Lines& lines = channels_[channel];
    return lines.first + line_[static_cast<int>(lines.axis)][rank];
  }

  // Members are first_member, first_member + stride, ...: extent of them.
  std::int32_t first_member(std::int32_t communicator) const { return member_[communicator]; }
  std::int32_t stride(ChannelNumber channel) const { return channels_[channel].stride; }

 private:
  // Of a channel: the lines of ranks along its axis.
  struct Lines {
    std::int32_t first = 0;  // communicator
    std::int32_t extent = 1;
    std::int32_t stride = 1;
    Axis axis = Axis::x;
  };

  std::vector<Lines> channels_;
  std::array<std::vector<std::int32_t>, axis_count> line_;  // by axis: the number of a rank's line
  std::vector<ChannelNumber> channel_of_;
  std::vector<std::int32_t> member_;
};

}  // namespace fourfold
