// A walk so small that it can be trusted: all ranks do one operation after the other, and every
// collective has the machine to itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/program/process_grid.hpp"
#include "sim/replay/issue_stream.hpp"

namespace fourfold::tests {

struct Bounds {
  double apart = 0.0;        // every collective as if it had the machine to itself
  double in_sequence = 0.0;  // one thing after the other: all collectives, all ranks' compute
};

// Bytes/s that the links of a group's members give on a channel.
using LoneRate = std::function<double(const std::vector<std::int64_t>& members, ChannelNumber)>;

// A collective of a group starts when the last member has posted it and the one before is done, and
// takes delay + work / rate. The streams are those of each rank, or one for all.
inline Bounds walked_apart(const TimedProgram& program, const ProcessGrid& grid,
                           const std::vector<IssueStream>& streams, const LoneRate& lone_rate) {
  const auto ranks = static_cast<std::size_t>(grid.size());
  Bounds bounds;
  std::vector<double> clock(ranks, 0.0);
  // By channel, number and rank.
  std::vector<std::vector<std::vector<double>>> ends(program.channels.size());
  for (std::size_t i = 0; i < streams.front().operations.size(); ++i) {
    const auto of = [&](std::size_t rank) -> const Operation& {
      return streams[streams.size() == 1 ? 0 : rank].operations[i];
    };
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      clock[rank] += of(rank).compute.value;
      bounds.in_sequence += of(rank).compute.value;
    }
    const Operation& operation = of(0);
    const ChannelNumber channel = operation.channel;
    if (operation.kind == Operation::Kind::wait) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        clock[rank] =
            std::max(clock[rank], ends[channel][operation.number][rank] + of(rank).late.value);
      }
    }
    if (operation.kind != Operation::Kind::post) continue;
    const std::int32_t posted = streams.front().posts[channel][operation.number].collective;
    const CollectiveCost& cost = program.collectives[posted].cost;
    std::vector<double> end(ranks, 0.0);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::int64_t> line =
          grid.line(static_cast<std::int64_t>(rank), program.channels[channel].axis);
      const double rate = std::min(cost.rate_cap.value, lone_rate(line, channel));
      const double duration = cost.delay.value + cost.work.value / rate;
      double start = ends[channel].empty() ? 0.0 : ends[channel].back()[rank];
      for (std::int64_t member : line) start = std::max(start, clock[member]);
      end[rank] = start + duration;
      if (static_cast<std::int64_t>(rank) == line.front()) bounds.in_sequence += duration;
    }
    ends[channel].push_back(std::move(end));
  }
  bounds.apart = *std::ranges::max_element(clock);
  return bounds;
}

}  // namespace fourfold::tests
