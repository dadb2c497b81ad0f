// Where stages of a pipeline meet on the estimated rung: messages and collectives along pipe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/cost/timed_program.hpp"

namespace fourfold {

// What joins stages: by channel and group of stages, when the last member posted the k-th message
// or collective, and when it is done.
class Meetings {
 public:
  explicit Meetings(const TimedProgram& program)
      : stages_(static_cast<std::int64_t>(program.by_stage().size())) {
    for (const Channel& channel : program.channels) {
      joins_.push_back(stages_ > 1 && channel.axis == Axis::pipe);
      groups_.emplace_back();
      if (!joins_.back()) continue;
      for (std::int64_t stage = 0; stage < stages_; ++stage) {
        const std::vector<std::int64_t> stages = group(channel, stages_, stage);
        groups_.back().push_back(stages.empty() ? -1 : *std::ranges::min_element(stages));
      }
      of_channel_.resize(groups_.size());
      of_channel_.back().resize(static_cast<std::size_t>(stages_));
      for (std::int64_t stage = 0; stage < stages_; ++stage) {
        const std::vector<std::int64_t> stages = group(channel, stages_, stage);
        if (!stages.empty()) {
          of_channel_.back()[static_cast<std::size_t>(groups_.back()[stage])].members =
              stages.size();
        }
      }
    }
    of_channel_.resize(groups_.size());
  }

  bool joins(ChannelNumber channel) const { return joins_[static_cast<std::size_t>(channel)]; }

  void post(ChannelNumber channel, std::int64_t stage, std::size_t number, double now,
            double duration) {
    Group& group = at(channel, stage);
    if (group.meetings.size() <= number) group.meetings.resize(number + 1);
    Meeting& meeting = group.meetings[number];
    meeting.last_post = std::max(meeting.last_post, now);
    if (++meeting.posts < group.members) return;
    const double free = number == 0 ? 0.0 : group.meetings[number - 1].finish;
    meeting.finish = std::max(free, meeting.last_post) + duration;
    ++group.done;
  }
  bool known(ChannelNumber channel, std::int64_t stage, std::size_t number) {
    return number < at(channel, stage).done;
  }
  double finish(ChannelNumber channel, std::int64_t stage, std::size_t number) {
    return at(channel, stage).meetings[number].finish;
  }

 private:
  struct Meeting {
    std::size_t posts = 0;
    double last_post = 0.0;
    double finish = 0.0;
  };
  struct Group {
    std::size_t members = 0;
    std::size_t done = 0;
    std::vector<Meeting> meetings;
  };

  Group& at(ChannelNumber channel, std::int64_t stage) {
    const auto c = static_cast<std::size_t>(channel);
    return of_channel_[c][static_cast<std::size_t>(groups_[c][static_cast<std::size_t>(stage)])];
  }

  std::int64_t stages_;
  std::vector<bool> joins_;                        // by channel
  std::vector<std::vector<std::int64_t>> groups_;  // by channel and stage: its group's first stage
  std::vector<std::vector<Group>> of_channel_;     // by channel and first stage
};

}  // namespace fourfold
