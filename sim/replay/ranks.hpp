// All ranks of a job: each is a program counter over the issue stream of its stage and a clock.
// Ranks meet in collectives; in between a rank runs ahead of the simulation, as nothing can disturb
// it there.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/conditions/jitter.hpp"
#include "sim/replay/communicators.hpp"
#include "sim/replay/issue_stream.hpp"
#include "sim/replay/observer.hpp"
#include "sim/replay/paces.hpp"
#include "sim/replay/queue_stream.hpp"
#include "sim/replay/transport.hpp"

namespace fourfold::inline sim::inline replay {

// What happened in one segment of a stage, as means over its ranks unless said otherwise.
struct SegmentTimes {
  double end = 0.0;       // of the segment's last operation
  double last_end = 0.0;  // the maximum over ranks
  double compute = 0.0;
  double bubble = 0.0;  // see Outcome::bubble
  struct OfChannel {
    double exposed = 0.0;
    double busy = 0.0;  // of collectives posted in the segment
    double end = 0.0;   // of the last collective posted in the segment
  };
  std::vector<OfChannel> channels;
};

// A collective of a communicator starts when all members have posted it and the one before it on
// the communicator is done. A message is one of two members.
class Ranks {
 public:
  // `streams`: by crew. Everything handed in must outlive the ranks.
  Ranks(const std::vector<const IssueStream*>& streams, const TimedProgram& program,
        const Communicators& communicators, Transport& network);
  // Ranks of another pace walk other streams of the same operations, by pace and crew.
  void set_paces(const Paces* paces, std::vector<std::vector<const IssueStream*>> streams);
  // Besides, each operation's compute takes jitter's factor for (rank, operation).
  void set_jitter(const Jitter* jitter) { jitter_ = jitter->none() ? nullptr : jitter; }
  // By crew: the streams are theirs, which are written as the first rank of each crew chooses.
  void set_queues(std::vector<QueueStream>* queues) {
    queues_ = queues;
    arrivals_.resize(states_.size());
  }
  // Is told what happens to whom; must outlive the ranks.
  void set_observer(Observer* observer) { observer_ = observer; }

  // All ranks, numbered 0 to count - 1, begin at time 0.
  void start(std::int64_t count);
  // To be called by the network.
  void finish(std::int32_t communicator, double time);
  // See Transport::on_expect.
  void expect(std::int32_t communicator, int lookups) const;

  // The same, at the time that it was given: the rank has something to choose.
  void wake(std::int32_t rank, double time);

  // Operations that ranks have done, of all ranks.
  std::int64_t walked() const { return walked_; }

  // True if all ranks have walked their whole stream and no collective is left.
  bool done() const { return ended_ == ranks_.size() && in_flight_ == 0; }
  // By crew. To be called when done.
  std::vector<std::vector<SegmentTimes>> segment_times() const;

 private:
  static constexpr ChannelNumber waits_for_nothing = -1;

  struct Rank {
    double clock = 0.0;
    std::int32_t next = 0;                       // operation
    std::int32_t awaited = 0;                    // number of the collective it waits for ...
    ChannelNumber waits_on = waits_for_nothing;  // ... and its channel
    bool chooses = false;                        // waits for any message that a turn begins with
  };
  struct Communicator {
    double started = 0.0;
    double finished_at = 0.0;
    std::int32_t finished = 0;  // collectives done: the next one has this number
    std::int32_t waiting = 0;   // members that wait for something on it
    bool running = false;
  };
  // A message that has arrived.
  struct Arrival {
    double started = 0.0;
    double last_post = 0.0;
    std::int32_t last_rank = 0;  // who made the last post
  };
  // A collective that not all members have posted, or that has not finished yet.
  struct Pending {
    double last_post = 0.0;
    std::int32_t posts = 0;
    std::int32_t last_rank = 0;  // who made the last post
  };
  // The pending collectives of the communicators of a channel: a ring of `depth` each.
  struct Board {
    std::vector<Pending> pending;
    std::int32_t depth = 4;  // a power of two
    std::int32_t first = 0;  // communicator
    std::int32_t communicators = 0;

    std::size_t place(std::int32_t communicator, std::int32_t number) const {
      const std::size_t row = static_cast<std::size_t>(communicator - first) * depth;
      return row + static_cast<std::size_t>(number & (depth - 1));
    }
  };

  // What the ranks of a crew walk, and what they did.
  struct Crew {
    const IssueStream* stream = nullptr;
    std::vector<SegmentTimes> sums;
    std::vector<SegmentTimes::OfChannel> channel_sums;      // by segment and channel
    std::vector<std::vector<std::int8_t>> last_of_segment;  // by channel and number
  };

  const IssueStream& stream_of(std::int32_t rank) const {
    const std::int32_t crew = communicators_.crew(rank);
    return paces_ == nullptr ? *crews_[crew].stream : *by_pace_[paces_->of(rank)][crew];
  }
  Crew& crew_of(std::int32_t rank) { return crews_[communicators_.crew(rank)]; }
  Pending& pending(ChannelNumber channel, std::int32_t communicator, std::int32_t number);
  void deepen(ChannelNumber channel);
  void walk(std::int32_t rank);
  // As far as its crew's stream is written. False if the rank has to wait before that.
  bool walk_written(std::int32_t rank);
  // Whether more has been written behind the end of a crew's stream.
  bool goes_on(std::int32_t rank);
  // The rank stands before a choice: true if it can go on.
  bool choose(std::int32_t rank);
  void begin_chosen(std::int32_t rank, StepPart part);
  bool arrived(std::int32_t rank, StepPart part) const;
  void post(std::int32_t rank, const Operation& operation);
  void start_if_ready(ChannelNumber channel, std::int32_t communicator, double not_before);
  // Collective `number` of a communicator, which `members` members of this crew took part in.
  void add_flight(Crew& crew, std::int32_t communicator, std::int32_t number, std::int32_t members);
  SegmentTimes::OfChannel& sums_of(Crew& crew, ChannelNumber channel, std::int32_t segment) {
    return crew.channel_sums[static_cast<std::size_t>(segment) * boards_.size() + channel];
  }
  // When a communicator's collective was done, one of the last.
  double& ended(std::int32_t communicator, std::int32_t number) {
    const std::size_t row = static_cast<std::size_t>(communicator) * remembered_;
    return ends_[row + static_cast<std::size_t>(number & (remembered_ - 1))];
  }
  // What a member that wakes will post first is fetched from memory.
  void expect_posts(std::int32_t communicator, std::int32_t members) const;
  // A wait is over but for what the collective, which ended then, lost to the kernels beside it.
  void be_late(std::int32_t rank, const Operation& operation, double ended);
  void mark(const Rank& rank, Crew& crew, std::int32_t segment);
  std::vector<SegmentTimes> segment_times(std::size_t crew) const;

  const TimedProgram& program_;
  const Communicators& communicators_;
  Transport& network_;
  std::vector<Rank> ranks_;
  const Paces* paces_ = nullptr;  // none: all ranks have the pace of their crew's stream
  std::vector<std::vector<const IssueStream*>> by_pace_;
  const Jitter* jitter_ = nullptr;
  Observer* observer_ = nullptr;
  std::vector<Communicator> states_;
  std::int32_t remembered_ = 4;  // ends of each communicator, a power of two
  std::vector<double> ends_;
  std::vector<Board> boards_;  // by channel
  std::vector<Crew> crews_;
  std::vector<QueueStream>* queues_ = nullptr;
  std::vector<Arrival> arrivals_;  // by communicator, the last one; empty without queues
  double woken_at_ = 0.0;          // last
  std::size_t ended_ = 0;
  std::int64_t in_flight_ = 0;
  std::int64_t walked_ = 0;
};

}  // namespace fourfold::inline sim::inline replay
