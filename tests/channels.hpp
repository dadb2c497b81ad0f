// The channels of programs that tests make up, and their numbers.
#pragma once

#include <vector>

#include "schedule/program/channel.hpp"

namespace fourfold::tests {

namespace on {
inline constexpr ChannelNumber x = 0;
inline constexpr ChannelNumber y = 1;
inline constexpr ChannelNumber z_gather = 2;
inline constexpr ChannelNumber z_reduce = 3;
inline constexpr ChannelNumber data = 4;
}  // namespace on

inline std::vector<Channel> made_up_channels() {
  return {{Axis::x, ""}, {Axis::y, ""}, {Axis::z, "gather"}, {Axis::z, "reduce"}, {Axis::data, ""}};
}

}  // namespace fourfold::tests
