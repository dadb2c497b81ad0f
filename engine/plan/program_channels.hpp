// The channels that a program's collectives go over, numbered as they stand in its list.
#pragma once

#include <vector>

#include "schedule/program/channel.hpp"
#include "schedule/program/program.hpp"

namespace fourfold {

inline std::vector<Channel> channels_of(const Program& /*program*/) {
  std::vector<Channel> channels;
  for (Lane lane : all_lanes) {
    const std::string text = name(lane);  // the axis, and its purpose where it has several
    const std::size_t line = text.find('_');
    channels.push_back({axis_of(lane), line == std::string::npos ? "" : text.substr(line + 1)});
  }
  return channels;
}

// The channel of a collective.
inline ChannelNumber channel_of(const Op& op) {
  return static_cast<ChannelNumber>(op.lane());
}

}  // namespace fourfold
