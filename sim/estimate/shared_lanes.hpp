// What is under way on the channels of a device that share links or a measured plateau: each
// channel is a FIFO, the collectives at the heads of all of them share what they have in common.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "sim/cost/timed_program.hpp"

namespace fourfold::inline sim::inline estimate {

// By channel, on the devices of a stage: whether its collectives may hold up those of another
// channel, or be held up. Two do if together they can fill something that both need, and one may be
// posted while the other is under way in the body of some run. Messages between stages do not
// count.
std::vector<bool> sharing_channels(const TimedProgram& program, std::size_t stage);

// Rates are max-min fair among those that move, as in a replay of all devices.
class SharedLanes {
 public:
  // What ended, in the order of ends.
  struct End {
    ChannelNumber channel = 0;
    double start = 0.0;
    double finish = 0.0;
  };

  static constexpr double never = std::numeric_limits<double>::infinity();

  // What is under way on a channel.
  struct Lane {
    ChannelNumber channel = 0;
    std::vector<const TimedCollective*> queue;  // the head first
    double start = 0.0;                         // of the head
    double due = never;                         // its next event
    double left = 0.0;                          // bytes at `since`
    double since = 0.0;
    double rate = 0.0;  // zero: it is delayed, or there is none
  };

  // The program must outlive the lanes.
  SharedLanes(const TimedProgram& program, std::size_t stage);

  bool any() const { return !lanes_.empty(); }
  bool has(ChannelNumber channel) const {
    return !lane_of_.empty() && lane_of_[static_cast<std::size_t>(channel)] >= 0;
  }

  // Posts must not lie before the time that the lanes have reached.
  void post(double now, const TimedCollective& collective);
  void advance(double to);
  // Goes on until at most so many on the channel are under way.
  void advance_until(ChannelNumber channel, std::size_t under_way);
  std::size_t under_way(ChannelNumber channel) const;

  // Since the last call. To be asked for after each of the above.
  std::vector<End>& ends() { return ends_; }

  const std::vector<Lane>& under_way() const { return lanes_; }
  // All times lie so much later.
  void move(double seconds);
  // Whether what is under way at `now` is what was under way in `before` at `then`.
  bool alike(const std::vector<Lane>& before, double then, double now, double tolerance) const;

 private:
  // Something that may be filled, and the lanes that need it.
  using Shared = std::vector<LinkShare>;  // by number of the lane

  void begin(Lane& lane, double now);
  void happen(Lane& lane);
  double next() const;
  void share();
  void fill(std::vector<double>& rates) const;

  std::vector<std::int32_t> lane_of_;  // by channel; -1: none
  std::vector<Lane> lanes_;
  std::vector<Shared> shared_;
  std::vector<End> ends_;
  std::vector<const TimedCollective*> moving_;  // by lane; null: nothing
  // What has been found, by what moves: by lane.
  std::map<std::vector<const TimedCollective*>, std::vector<double>> rates_;
  double clock_ = 0.0;
};

}  // namespace fourfold::inline sim::inline estimate
