// The communicators of a process grid, one per channel and group of ranks, numbered without gaps:
// each is one flow of a replay, or several (parts.hpp). Channels that carry nothing have none.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

#include "schedule/program/channel.hpp"
#include "schedule/program/process_grid.hpp"

namespace fourfold::inline sim::inline replay {

class Communicators {
 public:
  // `used`: by channel, whether anything is posted on it.
  // `crews_in_stage`: how many groups of neighbours walk streams of their own.
  Communicators(const ProcessGrid& grid, const std::vector<Channel>& channels,
                const std::vector<bool>& used, std::int32_t crews_in_stage = 1);

  std::int32_t count() const { return static_cast<std::int32_t>(first_member_.size()); }
  std::int32_t channels() const { return static_cast<std::int32_t>(channels_.size()); }
  std::int32_t members(ChannelNumber channel) const { return channels_[channel].members; }
  ChannelNumber channel(std::int32_t communicator) const { return channel_of_[communicator]; }

  // Of a rank that is in a group of the channel.
  std::int32_t communicator(ChannelNumber channel, std::int32_t rank) const {
    const Groups& groups = channels_[channel];
    return groups.first + numbers_[rank * std::size(numberings_) + groups.numbering];
  }

  // What is said of a communicator or a rank will soon be asked for: it is fetched from memory.
  void expect(std::int32_t communicator) const {
    __builtin_prefetch(&channel_of_[communicator]);
    __builtin_prefetch(&first_member_[communicator]);
  }
  void expect_rank(std::int32_t rank) const {
    __builtin_prefetch(&numbers_[rank * std::size(numberings_)]);
  }

  // Members are first_member, first_member + distance, ...: as many as the channel says. Of a
  // message the sender is the first, and the distance to the receiver may be negative.
  std::int32_t first_member(std::int32_t communicator) const { return first_member_[communicator]; }
  std::int32_t distance(ChannelNumber channel) const { return channels_[channel].distance; }

  // Whether the channel carries messages, from the first member to the second; else all send alike.
  bool one_way(ChannelNumber channel) const { return channels_[channel].one_way; }
  // Whether its groups have members on several stages.
  bool joins_stages(ChannelNumber channel) const { return channels_[channel].joins_stages; }
  // Stages have equally many ranks, one after the other.
  std::int32_t stage(std::int32_t rank) const { return rank / ranks_per_stage_; }
  // Those who walk one stream: all of a stage, unless its ranks choose their turns.
  std::int32_t crew(std::int32_t rank) const { return rank / ranks_per_crew_; }
  std::int32_t ranks_per_crew() const { return ranks_per_crew_; }

 private:
  // Of a channel.
  struct Groups {
    std::int32_t first = 0;  // communicator
    std::int32_t members = 1;
    std::int32_t distance = 1;
    std::int32_t numbering = 0;  // index into numbers_
    bool one_way = false;
    bool joins_stages = false;
  };
  // How ranks are grouped: what two channels may have in common.
  struct Numbering {
    Axis axis = Axis::x;
    Group group = Group::line;

    bool operator==(const Numbering&) const = default;
  };

  // By rank, of one numbering.
  std::vector<std::int32_t> numbers(const ProcessGrid& grid, const Channel& channel);

  std::int32_t ranks_per_stage_ = 1;
  std::int32_t ranks_per_crew_ = 1;
  std::vector<Groups> channels_;
  std::vector<Numbering> numberings_;
  // By rank and numbering: the number of the rank's group, those of lower ranks first. What a rank
  // posts next lies beside what it posted last.
  std::vector<std::int32_t> numbers_;
  std::vector<std::vector<std::int32_t>> first_members_;  // by numbering and group
  std::vector<ChannelNumber> channel_of_;
  std::vector<std::int32_t> first_member_;
};

}  // namespace fourfold::inline sim::inline replay
