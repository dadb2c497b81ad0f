// Collectives in flight: each pays its delay first, then its parts move their bytes at the max-min
// rate of the links they load. Knows nothing of SimGrid: it is driven from outside, instant by
// instant.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "sim/replay/event_queue.hpp"
#include "sim/replay/max_min.hpp"
#include "sim/replay/transport.hpp"

namespace fourfold {

// Communicator c's collectives are the flows [first[c], first[c + 1]) of an Incidence: parts that
// start together, each with all of the work per byte of its shares; the last one to end ends them.
struct Parts {
  std::vector<std::int32_t> first;

  static Parts whole(std::int32_t communicators);  // one flow each

  std::int32_t count() const { return static_cast<std::int32_t>(first.size()) - 1; }
};

class FlowNetwork : public Transport {
 public:
  struct Counts {
    std::int64_t finished = 0;  // collectives
    std::int64_t events = 0;
    std::int64_t solves = 0;
    Seconds solver_time;  // of our own clock
    // What the replay costs, the same on every machine: entries that the solver looked at, and ten
    // an event, which takes about as long.
    std::int64_t work = 0;
  };

  // Thrown by advance() beyond the work limit.
  struct TooMuchWork : std::runtime_error {
    TooMuchWork();
  };

  // Rates are decided anew at most once per `quantum`: what happens within it is handled together,
  // each flow keeping its own exact start. The Incidence must outlive the network.
  FlowNetwork(const Incidence& incidence, Parts parts, Seconds quantum);

  void start(std::int32_t communicator, double time, const TimedCollective& collective) override;

  void wake(std::int32_t rank, double time) override;

  // When something happens next; infinity if nothing is in flight.
  double next_time();
  // Handles what is due at next_time() and within the quantum after it.
  void advance();

  const Counts& counts() const { return counts_; }
  void limit_work(std::int64_t limit) { work_limit_ = limit; }
  // Bytes/s per unit of share of a flow of the Incidence, as last decided.
  double rate(std::int32_t flow) const { return rates_.rate(flow); }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  enum class Phase : std::uint8_t { idle, delayed, moving };
  struct Flow {
    double remaining = 0.0;  // bytes, as of `updated`
    double updated = 0.0;
    double rate = 0.0;
    double due = 0.0;  // when something happens to it next
    // The instant of its event in the queue, no later than `due`; its events of other instants were
    // overtaken.
    double asked = never;
    std::int32_t communicator = 0;
    Phase phase = Phase::idle;  // the first flow of a communicator stands for all in their delay
  };
  struct Collective {
    double work = 0.0;
    double cap = 0.0;
    std::int32_t unfinished = 0;  // parts
  };

  // An event that is out of the queue before its turn.
  struct Soon {
    double time = 0.0;
    Event event;
  };

  // Events of ranks stand below those of flows.
  static bool wakes(const Event& event) { return event.flow < 0; }
  void schedule(std::int32_t flow, double time);
  bool concerns(std::int32_t flow, double time) const { return flows_[flow].asked == time; }
  // Whether something really happens in an event of this instant.
  bool is_due(const Event& event, double time) const;
  void put_off(std::int32_t flow);
  // Takes the next events up to `limit` out of the queue, and what they look at out of memory:
  // waiting for one after the other costs more than all else on a large machine. False if there are
  // none.
  bool look_ahead(double limit);
  void handle(const Soon& next);
  void happen(const Event& event, double time);
  void move(std::int32_t communicator, double time);
  // True if the part moves at its bound: then its end is known, but has no event yet.
  bool move_part(std::int32_t flow, double time);
  void finish_part(std::int32_t flow, double time);
  void solve();

  const Incidence& incidence_;
  MaxMin rates_;
  EventQueue queue_;
  Parts parts_;
  std::vector<Flow> flows_;
  std::vector<Collective> collectives_;  // by communicator
  std::vector<Soon> soon_;
  double quantum_;
  double now_ = 0.0;
  Counts counts_;
  std::int64_t work_limit_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace fourfold
