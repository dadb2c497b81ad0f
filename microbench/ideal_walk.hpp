// What a schedule would take on a perfect communicator: all ranks walked together over durations
// that were measured alone. Kernels and collectives last as long as alone; the ranks share one link
// (as they share a loopback), which is never idle while a collective may move, and serves the one
// whose wait comes soonest in the stream, broken off and taken up again at no cost. A collective
// may move from when its last member has started it and the channel's previous one is finished.
//
// "Soonest needed first" is a strong order, not proven to be the best one; first come, first served
// hides less. Where an axis has several lines, they are one collective here, of all ranks.
#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

#include "schedule/order/issue.hpp"

namespace fourfold::inline microbench {

struct AloneDurations {
  std::vector<std::vector<double>> kernels;  // by rank and operation, seconds
  std::vector<double> collectives;           // by operation: from the last start to the last end
};

struct IdealStep {
  double seconds = 0.0;        // of the slowest rank
  std::vector<double> waited;  // by channel, mean over ranks
};

class IdealWalk {
 public:
  IdealWalk(const Schedule& schedule, const ProcessGrid& grid, const AloneDurations& alone)
      : schedule_(schedule),
        grid_(grid),
        alone_(alone),
        ranks_(alone.kernels.size()),
        started_(alone.collectives.size(), 0),
        left_(alone.collectives),
        finished_(alone.collectives.size(), false),
        wait_at_(alone.collectives.size(), schedule.stream.size()),
        channels_(schedule.program.channels.size()) {
    for (Rank& rank : ranks_) rank.waited.assign(channels_.size(), 0.0);
    for (std::size_t i = 0; i < schedule.stream.size(); ++i) {
      if (schedule.stream[i].kind == IssueKind::wait) wait_at_[op_of(schedule.stream[i])] = i;
    }
  }

  IdealStep run() {
    while (true) {
      bool ended = true;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        proceed(r);
        ended = ended && ranks_[r].next == schedule_.stream.size() && ranks_[r].free_at <= now_;
      }
      if (ended) break;
      serve_until_next_event();
    }
    IdealStep step;
    step.seconds = now_;
    step.waited.assign(channels_.size(), 0.0);
    for (const Rank& rank : ranks_) {
      for (std::size_t i = 0; i < channels_.size(); ++i) {
        step.waited[i] += rank.waited[i] / static_cast<double>(ranks_.size());
      }
    }
    return step;
  }

 private:
  struct Rank {
    std::size_t next = 0;  // place in the stream
    double free_at = 0.0;  // when the last operation ends, or when the present wait began
    bool blocked = false;
    std::vector<double> waited;  // by channel
  };

  static std::size_t op_of(const Issue& issue) { return static_cast<std::size_t>(issue.id); }
  const Op& op(std::size_t i) const { return schedule_.program.ops[i]; }
  std::size_t channel(std::size_t i) const { return static_cast<std::size_t>(op(i).channel); }

  // Up to the first operation that lasts, or wait that blocks.
  void proceed(std::size_t r) {
    Rank& rank = ranks_[r];
    while (rank.next < schedule_.stream.size() && rank.free_at <= now_) {
      const Issue& issue = schedule_.stream[rank.next];
      const std::size_t i = op_of(issue);
      if (issue.kind == IssueKind::compute) rank.free_at = now_ + alone_.kernels[r][i];
      if (issue.kind == IssueKind::start && grid_.extent(op(i).axis) > 1) start(i);
      if (issue.kind == IssueKind::wait && grid_.extent(op(i).axis) > 1) {
        rank.blocked = !finished_[i];
        if (rank.blocked) return;
        rank.waited[channel(i)] += now_ - rank.free_at;
        rank.free_at = now_;
      }
      if (issue.kind == IssueKind::start) rank.free_at = now_;
      ++rank.next;
    }
  }

  void start(std::size_t i) {
    if (++started_[i] == static_cast<int>(ranks_.size())) {
      channels_[channel(i)].push_back(i);
    }
  }

  // The channel whose oldest collective is needed soonest; null where nothing may move.
  std::deque<std::size_t>* served() {
    std::deque<std::size_t>* soonest = nullptr;
    for (std::deque<std::size_t>& channel : channels_) {
      if (channel.empty()) continue;
      if (soonest == nullptr || needed(channel) < needed(*soonest)) soonest = &channel;
    }
    return soonest;
  }
  // A channel is needed when any collective in it is: the ones before that one are in its way.
  std::size_t needed(const std::deque<std::size_t>& channel) const {
    std::size_t soonest = schedule_.stream.size();
    for (std::size_t i : channel) soonest = std::min(soonest, wait_at_[i]);
    return soonest;
  }

  void serve_until_next_event() {
    double next = std::numeric_limits<double>::infinity();
    for (const Rank& rank : ranks_) {
      if (!rank.blocked && rank.free_at > now_) next = std::min(next, rank.free_at);
    }
    std::deque<std::size_t>* const channel = served();
    if (channel != nullptr && now_ + left_[channel->front()] <= next) {
      now_ += left_[channel->front()];
      finished_[channel->front()] = true;
      channel->pop_front();
      return;
    }
    if (channel != nullptr) left_[channel->front()] -= next - now_;
    now_ = next;
  }

  const Schedule& schedule_;
  const ProcessGrid& grid_;
  const AloneDurations& alone_;
  double now_ = 0.0;
  std::vector<Rank> ranks_;
  std::vector<int> started_;  // by operation: on how many ranks
  std::vector<double> left_;  // by operation: seconds of the link still needed
  std::vector<bool> finished_;
  std::vector<std::size_t> wait_at_;               // by operation: place in the stream
  std::vector<std::deque<std::size_t>> channels_;  // collectives not finished, in order
};

}  // namespace fourfold::inline microbench
