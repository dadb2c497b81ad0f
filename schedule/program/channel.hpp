// A channel carries what is sent along one axis for one purpose: the collectives and messages of a
// channel are a FIFO, and two purposes along one axis have two channels where one would block the
// other.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "schedule/program/process_grid.hpp"

namespace fourfold::inline schedule::inline program {

// Which ranks of a line along the axis a channel joins. Messages have pairs of neighbours: stage i
// and i + 1. A rank is in one pair with each neighbour, so that pairs whose first stage is even and
// those whose first is odd have channels of their own: on a channel a rank has one partner.
enum class Group : std::uint8_t {
  line,        // all of them
  ends,        // the first and the last
  after_even,  // a message from stage i to i + 1, i even
  after_odd,
  wrap,         // from the last stage to the first
  before_even,  // from stage i + 1 back to i, i even
  before_odd,
  wrap_back,  // from the first stage to the last
};

struct Channel {
  Axis axis = Axis::x;
  std::string purpose;  // empty where the axis has no other
  Group group = Group::line;

  bool operator==(const Channel&) const = default;
};

// "x", "z_gather": in tables, records and traces.
inline std::string name(const Channel& channel) {
  return channel.purpose.empty() ? fourfold::name(channel.axis)
                                 : fourfold::name(channel.axis) + ("_" + channel.purpose);
}

// Channels are listed in this order, so that lists which were read back by name have it too.
inline bool in_order(const Channel& first, const Channel& second) {
  return std::tie(first.axis, first.purpose) < std::tie(second.axis, second.purpose);
}

// Index into the channels that a program declares.
using ChannelNumber = std::int32_t;

// Instead of how many posts ago one was that is waited for: the oldest post of the channel that
// nobody has waited for.
inline constexpr std::int32_t oldest_post = -1;

// Members of a channel's groups.
std::int64_t members(const Channel& channel, const ProcessGrid& grid);
// The coordinates along the axis of the group that `coordinate` is in, the sender of a message
// first; empty where it is in none.
// Example: after_odd of 4 stages, coordinate 2: {1, 2}; coordinate 0: {}.
std::vector<std::int64_t> group(const Channel& channel, std::int64_t extent,
                                std::int64_t coordinate);
// The same as ranks.
std::vector<std::int64_t> group(const Channel& channel, const ProcessGrid& grid, std::int64_t rank);
// The channel of what `stage` sends to the next stage; the last stage's next is the first.
Channel forward_from(std::int64_t stage, std::int64_t stages);
// The channel of what `stage` sends to the stage before it.
Channel backward_from(std::int64_t stage);

}  // namespace fourfold::inline schedule::inline program
