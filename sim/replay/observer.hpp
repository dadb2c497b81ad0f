// What happens to whom in a replay: per rank what it computes and waits for, per class of
// collectives how long they fly, and for a few ranks a whole log.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/conditions/device_classes.hpp"
#include "sim/explain/device_log.hpp"
#include "sim/question/replay_detail.hpp"
#include "sim/replay/communicators.hpp"
#include "sim/replay/issue_stream.hpp"

namespace fourfold::inline sim::inline replay {

// Seconds of a whole step: cut loops are extended by the weights of their segments.
struct RankUse {
  double compute = 0.0;
  double blamed = 0.0;  // what others waited, in sum, until this rank posted as the last of a group
};

// The same by channel.
struct RankWaits {
  double exposed = 0.0;
  // Of exposed: while none of the group's collectives is in flight, as some member comes later.
  double late = 0.0;
};

struct FlightUse {
  double seconds = 0.0;  // all flights, over all groups
  double count = 0.0;
  double longest = 0.0;

  double mean() const { return count > 0.0 ? seconds / count : 0.0; }
};

class Observer {
 public:
  // `streams`: by crew. Everything handed in must outlive the observer. `logged`: ranks of which a
  // log is kept.
  Observer(const std::vector<const IssueStream*>& streams, const Communicators& communicators,
           std::int64_t ranks, const std::vector<std::int64_t>& logged);

  // The ranks walk these instead, which will say the same in another sequence.
  void follow(std::vector<const IssueStream*> streams) { streams_ = std::move(streams); }

  struct Interval {
    double from = 0.0;
    double to = 0.0;
  };
  struct LastPost {
    std::int32_t rank = 0;
    double time = 0.0;
  };

  // The rank has done the operation's compute and is at the operation itself.
  void reach(std::int32_t rank, const Operation& operation, double compute, double clock) {
    ranks_[rank].compute += compute * weight(rank, operation);
    if (log_of_rank_[rank] != not_logged) log(rank, operation, clock);
  }
  // The rank waited, from its own clock to the end of the collective; `to` may lie before `from`.
  // `finish` must have been called for that collective.
  void wake(std::int32_t rank, const Operation& operation, Interval waited, LastPost last);
  // It goes on so many seconds after that, for what the collective lost to kernels.
  void be_late(std::int32_t rank, const Operation& operation, double seconds);
  void finish(std::int32_t communicator, std::int32_t number, double started, double time);

  const std::vector<RankUse>& ranks() const { return ranks_; }
  std::size_t channels() const { return streams_.front()->posts.size(); }
  const RankWaits& waits(std::size_t rank, std::size_t channel) const {
    return waits_[rank * channels() + channel];
  }
  const std::vector<FlightUse>& flights() const { return flights_; }  // by collective
  const std::vector<DeviceLog>& logs() const { return logs_; }        // in the order of `logged`

 private:
  static constexpr std::int8_t not_logged = -1;
  double in_flight(std::size_t communicator, Interval during) const;

  const IssueStream& stream_of(std::int32_t rank) const {
    return *streams_[communicators_.crew(rank)];
  }
  // A stream that is written on the way stands for itself.
  static double weight(const IssueStream& stream, std::int32_t segment) {
    return stream.segments.empty() ? 1.0 : stream.segments[segment].weight;
  }
  double weight(std::int32_t rank, const Operation& operation) const {
    return weight(stream_of(rank), operation.segment);
  }
  void add_flight(const IssueStream& stream, const ChannelPost& post, double seconds);
  void log(std::int32_t rank, const Operation& operation, double clock);

  std::vector<const IssueStream*> streams_;  // by crew
  const Communicators& communicators_;
  std::vector<RankUse> ranks_;
  std::vector<RankWaits> waits_;  // by rank and channel
  std::vector<FlightUse> flights_;
  // The last flights of each communicator, as many as a wait can last: from the collective after
  // the one that was waited for before to the one that is waited for.
  std::size_t remembered_ = 1;
  std::vector<Interval> recent_;    // by communicator and number modulo remembered_
  std::vector<std::size_t> flown_;  // by communicator: how many
  std::vector<DeviceLog> logs_;
  std::vector<std::int8_t> log_of_rank_;
  std::vector<std::vector<std::int8_t>> logs_of_communicator_;  // whose members are logged
};

// Flights, classes of devices, latecomers and the longest compute: all that needs only a observer.
ReplayDetail summary(const Observer& observer, const DeviceClasses& classes);

}  // namespace fourfold::inline sim::inline replay
