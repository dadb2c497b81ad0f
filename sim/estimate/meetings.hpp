// Where stages of a pipeline meet on the estimated rung: messages and collectives along pipe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/cost/timed_program.hpp"

namespace fourfold::inline sim::inline estimate {

// What joins stages: by channel and group of stages, when the last member posted the k-th message
// or collective, and when it is done.
class Meetings {
 public:
  explicit Meetings(const TimedProgram& program)
      : stages_(static_cast<std::int64_t>(program.by_stage().size())),
        joins_(program.channels.size(), false),
        groups_(program.channels.size()),
        of_channel_(program.channels.size()),
        meets_(program.runs.size(), false) {
    if (stages_ == 1) return;
    for (std::size_t c = 0; c < program.channels.size(); ++c) {
      if (program.channels[c].axis == Axis::pipe) join(program.channels[c], c);
    }
    for (std::size_t r = 0; r < program.runs.size(); ++r) {
      const auto first = program.steps.begin() + program.runs[r].first;
      const auto last = program.steps.begin() + program.runs[r].last;
      meets_[r] = std::any_of(first, last, [this](const TimedStep& step) {
        return step.kind != StepKind::compute && joins(step.channel);
      });
    }
  }

  // Whether the steps of a run, by its number, join stages.
  bool meets(std::int32_t run) const { return meets_[static_cast<std::size_t>(run)]; }
  bool joins(ChannelNumber channel) const { return joins_[static_cast<std::size_t>(channel)]; }

  void post(ChannelNumber channel, std::int64_t stage, std::size_t number, double now,
            double duration) {
    MeetingGroup& group = at(channel, stage);
    if (group.meetings.size() <= number) group.meetings.resize(number + 1);
    MeetingTimes& meeting = group.meetings[number];
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
  struct MeetingTimes {
    std::size_t posts = 0;
    double last_post = 0.0;
    double finish = 0.0;
  };
  struct MeetingGroup {
    std::size_t members = 0;
    std::size_t done = 0;
    std::vector<MeetingTimes> meetings;
  };

  void join(const Channel& channel, std::size_t number) {
    joins_[number] = true;
    of_channel_[number].resize(static_cast<std::size_t>(stages_));
    for (std::int64_t stage = 0; stage < stages_; ++stage) {
      const std::vector<std::int64_t> members = group(channel, stages_, stage);
      groups_[number].push_back(members.empty() ? -1 : std::ranges::min(members));
      if (members.empty()) continue;
      of_channel_[number][static_cast<std::size_t>(groups_[number].back())].members =
          members.size();
    }
  }

  MeetingGroup& at(ChannelNumber channel, std::int64_t stage) {
    const auto c = static_cast<std::size_t>(channel);
    return of_channel_[c][static_cast<std::size_t>(groups_[c][static_cast<std::size_t>(stage)])];
  }

  std::int64_t stages_;
  std::vector<bool> joins_;                        // by channel
  std::vector<std::vector<std::int64_t>> groups_;  // by channel and stage: its group's first stage
  std::vector<std::vector<MeetingGroup>> of_channel_;  // by channel and first stage
  std::vector<bool> meets_;                            // by run
};

}  // namespace fourfold::inline sim::inline estimate
