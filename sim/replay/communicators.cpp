// Numbers groups by their lowest ranks.
#include "sim/replay/communicators.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace fourfold::inline sim::inline replay {

Communicators::Communicators(const ProcessGrid& grid, const std::vector<Channel>& channels,
                             const std::vector<bool>& used, std::int32_t crews_in_stage)
    : ranks_per_stage_(static_cast<std::int32_t>(grid.stride(Axis::pipe))),
      ranks_per_crew_(ranks_per_stage_ / crews_in_stage) {
  const auto most = std::numeric_limits<std::int32_t>::max();
  if (grid.size() > most / static_cast<std::int64_t>(channels.size() + 1)) {
    throw std::invalid_argument("The grid " + grid.str() + " has too many ranks to be replayed.");
  }
  std::vector<std::vector<std::int32_t>> by_numbering;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const Channel& channel = channels[c];
    const auto members = static_cast<std::int32_t>(fourfold::members(channel, grid));
    Groups& groups = channels_.emplace_back();
    groups.first = count();
    groups.members = members;
    groups.one_way = channel.group != Group::line && channel.group != Group::ends;
    groups.joins_stages = channel.axis == Axis::pipe;
    if (!used[c] || members == 1) continue;
    const Numbering numbering{channel.axis, channel.group};
    const auto known = std::ranges::find(numberings_, numbering);
    groups.numbering = static_cast<std::int32_t>(known - numberings_.begin());
    if (known == numberings_.end()) {
      numberings_.push_back(numbering);
      by_numbering.push_back(numbers(grid, channel));
    }
    for (std::int32_t member : first_members_[groups.numbering]) {
      channel_of_.push_back(static_cast<ChannelNumber>(c));
      first_member_.push_back(member);
    }
    if (groups.first == count()) continue;
    const std::vector<std::int64_t> first = group(channel, grid, first_member_[groups.first]);
    groups.distance = static_cast<std::int32_t>(first[1] - first[0]);
  }
  numbers_.reserve(static_cast<std::size_t>(grid.size()) * by_numbering.size());
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(grid.size()); ++rank) {
    for (const std::vector<std::int32_t>& one : by_numbering) numbers_.push_back(one[rank]);
  }
}

std::vector<std::int32_t> Communicators::numbers(const ProcessGrid& grid, const Channel& channel) {
  const auto ranks = static_cast<std::int32_t>(grid.size());
  const auto stride = static_cast<std::int32_t>(grid.stride(channel.axis));
  const auto extent = static_cast<std::int32_t>(grid.extent(channel.axis));
  // By coordinate: how far away the lowest and the first member are; no group has no entry.
  struct Way {
    std::int32_t to_lowest = 0;
    std::int32_t to_first = 0;
    bool grouped = false;
  };
  std::vector<Way> ways(extent);
  for (std::int32_t i = 0; i < extent; ++i) {
    const std::vector<std::int64_t> members = group(channel, extent, i);
    if (members.empty()) continue;
    const auto lowest = static_cast<std::int32_t>(*std::ranges::min_element(members));
    ways[i] = {(lowest - i) * stride, (static_cast<std::int32_t>(members[0]) - i) * stride, true};
  }
  std::vector<std::int32_t> numbers(ranks, -1);
  std::vector<std::int32_t>& firsts = first_members_.emplace_back();
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const Way& way = ways[rank / stride % extent];
    if (!way.grouped) continue;
    if (way.to_lowest != 0) {
      numbers[rank] = numbers[rank + way.to_lowest];
      continue;
    }
    numbers[rank] = static_cast<std::int32_t>(firsts.size());
    firsts.push_back(rank + way.to_first);
  }
  return numbers;
}

}  // namespace fourfold::inline sim::inline replay
