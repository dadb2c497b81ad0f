// A channel carries what is sent along one axis for one purpose: the collectives of a channel are a
// FIFO, and two purposes along one axis have two channels where one would block the other.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/program/process_grid.hpp"

namespace fourfold {

struct Channel {
  Axis axis = Axis::x;
  std::string purpose;  // empty where the axis has no other

  bool operator==(const Channel&) const = default;
};

// "x", "z_gather": in tables, records and traces.
inline std::string name(const Channel& channel) {
  return channel.purpose.empty() ? fourfold::name(channel.axis)
                                 : fourfold::name(channel.axis) + ("_" + channel.purpose);
}

// Index into the channels that a program declares.
using ChannelNumber = std::int32_t;

}  // namespace fourfold
