// Who is in which group of a channel; see channel.hpp.
#include "schedule/program/channel.hpp"

#include <algorithm>

namespace fourfold::inline schedule::inline program {

namespace {

bool towards_first(Group group) {
  return group == Group::before_even || group == Group::before_odd || group == Group::wrap_back;
}

// The first stage of the pair that `coordinate` is in, and -1 where it is in none.
std::int64_t first_of_pair(Group group, std::int64_t extent, std::int64_t coordinate) {
  if (group == Group::wrap || group == Group::wrap_back) {
    return coordinate == 0 || coordinate + 1 == extent ? extent - 1 : -1;
  }
  const std::int64_t odd = group == Group::after_odd || group == Group::before_odd ? 1 : 0;
  const std::int64_t first = coordinate % 2 == odd ? coordinate : coordinate - 1;
  return first < 0 || first + 1 >= extent ? -1 : first;
}

}  // namespace

std::int64_t members(const Channel& channel, const ProcessGrid& grid) {
  const std::int64_t extent = grid.extent(channel.axis);
  return channel.group == Group::line ? extent : std::min<std::int64_t>(2, extent);
}

std::vector<std::int64_t> group(const Channel& channel, std::int64_t extent,
                                std::int64_t coordinate) {
  std::vector<std::int64_t> result;
  if (extent == 1) return {0};
  if (channel.group == Group::line) {
    for (std::int64_t i = 0; i < extent; ++i) result.push_back(i);
  } else if (channel.group == Group::ends) {
    if (coordinate == 0 || coordinate + 1 == extent) result = {0, extent - 1};
  } else {
    const std::int64_t first = first_of_pair(channel.group, extent, coordinate);
    if (first != -1) result = {first, (first + 1) % extent};
    if (towards_first(channel.group)) std::reverse(result.begin(), result.end());
  }
  return result;
}

std::vector<std::int64_t> group(const Channel& channel, const ProcessGrid& grid,
                                std::int64_t rank) {
  const std::int64_t coordinate = grid.coordinate(rank, channel.axis);
  std::vector<std::int64_t> ranks = group(channel, grid.extent(channel.axis), coordinate);
  for (std::int64_t& member : ranks) {
    member = rank + (member - coordinate) * grid.stride(channel.axis);
  }
  return ranks;
}

Channel forward_from(std::int64_t stage, std::int64_t stages) {
  if (stage + 1 == stages) return {Axis::pipe, "forward_wrap", Group::wrap};
  if (stage % 2 == 0) return {Axis::pipe, "forward_even", Group::after_even};
  return {Axis::pipe, "forward_odd", Group::after_odd};
}

Channel backward_from(std::int64_t stage) {
  if (stage == 0) return {Axis::pipe, "backward_wrap", Group::wrap_back};
  if (stage % 2 == 1) return {Axis::pipe, "backward_even", Group::before_even};
  return {Axis::pipe, "backward_odd", Group::before_odd};
}

}  // namespace fourfold::inline schedule::inline program
